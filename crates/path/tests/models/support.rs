//! A ring for model checks, and a sender on it.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Mutex;

use taut_path::driver::ChunkSupport;
use taut_path::queue::{Admission, Sender};
use taut_path::{Completions, DropReason, Packet, PacketSink, Qdisc, Stop, TxRing};

pub const PACKET_BYTES: u32 = 100;

/// A ring whose device completes packets at once. Each half reads only the counter of the other
/// half, as with real rings: the model checker does not explore orders behind a load of the
/// thread's own.
pub struct Submit {
    slots: u32,
    submitted: u32,
    shared: Arc<Counts>,
}

pub struct Reap {
    slots: u32,
    pub reaped: u32,
    shared: Arc<Counts>,
}

#[derive(Default)]
pub struct Counts {
    submitted: AtomicU32,
    reaped: AtomicU32,
    /// Not a lock of loom: it is never held at a switch of threads, and the counters limit what can
    /// be taken.
    packets: Mutex<VecDeque<Packet>>,
}

impl TxRing for Submit {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.slots - (self.submitted - self.shared.reaped.load(Ordering::Acquire))
    }

    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let mut packets = self
            .shared
            .packets
            .lock()
            .expect("no thread panics while it is locked");
        packets.push_back(packet);
        drop(packets);
        self.submitted += 1;
        self.shared
            .submitted
            .store(self.submitted, Ordering::Release);
        Ok(())
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
            let mut packets = self
                .shared
                .packets
                .lock()
                .expect("no thread panics while it is locked");
            let packet = packets.pop_front().expect("it was submitted");
            drop(packets);
            freed(packet);
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

    fn unknown_completion(&mut self, _packet: Packet) {
        panic!("the ring returns submitted packets only");
    }
}

/// The halves of a ring of `slots`, and their counters.
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

/// Sends until it would sleep. Returns `true` if it sleeps.
pub fn send_until_asleep<Q: Qdisc, A: Admission>(sender: &mut Sender<Submit, Q, (), A>) -> bool {
    loop {
        match sender.run(0, &mut Nothing) {
            Stop::Idle => return false,
            Stop::Limit | Stop::RingFull if sender.must_wait() => return true,
            Stop::Limit | Stop::RingFull => {}
            other => panic!("unexpected stop: {other:?}"),
        }
    }
}
