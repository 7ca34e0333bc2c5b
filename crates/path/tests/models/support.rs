//! A ring for model checks, and a sender on it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use std::convert::Infallible;

use taut_path::queue::Sender;
use taut_path::{Completions, DropReason, Frame, Limit, Packet, PacketSink, Stop, TxRing};

pub const PACKET_BYTES: u32 = 100;

/// A ring whose device finishes at once what it sees. Packets all look the same, so two counters
/// are all of it. Each half reads only the other's counter, as with real rings: the model checker
/// does not explore orders behind a load of the thread's own.
pub struct Submit {
    pub slots: u32,
    pub submitted: u32,
    pub shared: Arc<Counts>,
}

pub struct Reap {
    pub slots: u32,
    pub reaped: u32,
    pub shared: Arc<Counts>,
}

#[derive(Default)]
pub struct Counts {
    submitted: AtomicU32,
    reaped: AtomicU32,
}

impl TxRing for Submit {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.slots - (self.submitted - self.shared.reaped.load(Ordering::Acquire))
    }

    fn slots_of_largest(&self) -> u32 {
        1
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) {
        drop(packet.into_frame());
        self.submitted += 1;
        self.shared
            .submitted
            .store(self.submitted, Ordering::Release);
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Reap {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.slots - (self.shared.submitted.load(Ordering::Acquire) - self.reaped)
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        _budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        let submitted = self.shared.submitted.load(Ordering::Acquire);
        for _ in self.reaped..submitted {
            freed(Packet::new(Frame::new(0), PACKET_BYTES));
        }
        self.reaped = submitted;
        self.shared.reaped.store(self.reaped, Ordering::Release);
        Ok(false)
    }
}

pub struct Nothing;

impl PacketSink for Nothing {
    fn freed(&mut self, packet: Packet) {
        drop(packet.into_frame());
    }

    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// The halves of a ring of `slots`, and what both count.
pub fn pair(slots: u32) -> (Submit, Reap, Arc<Counts>) {
    let shared = Arc::new(Counts::default());
    let reap = Reap {
        slots,
        reaped: 0,
        shared: shared.clone(),
    };
    let submit = Submit {
        slots,
        submitted: 0,
        shared: shared.clone(),
    };
    (submit, reap, shared)
}

impl Counts {
    pub fn submitted(&self) -> u32 {
        self.submitted.load(Ordering::Acquire)
    }
}

/// Sends until it would sleep. Returns whether it sleeps.
pub fn send_until_asleep<L: Limit>(sender: &mut Sender<L>, ring: &mut Submit) -> bool {
    loop {
        match sender.run(ring, 0, &mut Nothing, &mut ()) {
            Stop::Idle => return false,
            Stop::Limit | Stop::RingFull if sender.must_wait() => return true,
            Stop::Limit | Stop::RingFull => {}
            other => panic!("unexpected stop: {other:?}"),
        }
    }
}
