//! Model checks of the queue's two halves: the gates, the limit and the waker together.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test loom_queue`
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use std::convert::Infallible;

use taut_path::limit::{Dynamic, Fixed, Ladder, Need};
use taut_path::qdisc::Fifo;
use taut_path::queue::{QueueConfig, Reaper, Sender, split};
use taut_path::{Completions, DropReason, Frame, Limit, Packet, PacketSink, Stop, TxRing};

const PACKET_BYTES: u32 = 100;
const PACKETS: u32 = 2;

/// A ring whose device finishes at once what it sees. Packets all look the same, so two counters
/// are all of it. Each half reads only the other's counter, as with real rings: the model checker
/// does not explore orders behind a load of the thread's own.
struct Submit {
    slots: u32,
    submitted: u32,
    shared: Arc<Counts>,
}

struct Reap {
    slots: u32,
    reaped: u32,
    shared: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
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

struct Nothing;

impl PacketSink for Nothing {
    fn freed(&mut self, packet: Packet) {
        drop(packet.into_frame());
    }

    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// Sends until it would sleep. Returns whether it sleeps.
fn send_until_asleep<L: Limit>(mut sender: Sender<L>, mut ring: Submit) -> bool {
    loop {
        match sender.run(&mut ring, 0, &mut Nothing, &mut ()) {
            Stop::Idle => return false,
            Stop::Limit | Stop::RingFull if sender.must_wait() => return true,
            Stop::Limit | Stop::RingFull => {}
            other => panic!("unexpected stop: {other:?}"),
        }
    }
}

/// Two rounds of completions. Returns how many packets were reaped, and the wake-ups.
fn complete_twice<L: Limit>(mut reaper: Reaper<L>, mut ring: Reap) -> (u32, u64) {
    for _ in 0..2 {
        reaper
            .complete(&mut ring, 1, &mut Nothing, &mut ())
            .expect("the driver reports what it was given");
    }
    (ring.reaped, reaper.wakeups())
}

fn check(
    limit: impl Limit<Sender: Send + 'static, Completer: Send + 'static> + Copy + Send + Sync + 'static,
    slots: u32,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let mut config = QueueConfig::new(slots);
        config.restart_slots = slots;
        let (mut sender, reaper) =
            split(Box::new(Fifo::new(PACKETS)), limit, config, 0).expect("valid settings");
        for index in 0..PACKETS {
            let packet = Packet::new(Frame::new(index), PACKET_BYTES);
            sender.enqueue(packet, 0, &mut Nothing, &mut ());
        }
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
        let completer = thread::spawn(move || complete_twice(reaper, reap));
        let asleep = send_until_asleep(sender, submit);
        let (reaped, wakeups) = completer.join().expect("the reaper does not panic");
        // With nothing in the device no completion will ever come to wake the sender.
        let in_device = shared.submitted.load(Ordering::Acquire) - reaped;
        assert!(
            !asleep || wakeups > 0 || in_device > 0,
            "lost wake-up: asleep, and nothing in flight"
        );
    });
}

#[test]
fn a_queue_stopped_by_its_limit_is_always_started_again() {
    check(Fixed::packets(1), 8);
}

#[test]
fn a_queue_stopped_by_linux_rule_is_always_started_again() {
    check(Dynamic::default(), 8);
}

#[test]
fn a_queue_stopped_by_a_rule_that_sizes_by_need_is_always_started_again() {
    check(Need::default(), 8);
    check(Ladder::default(), 8);
}

#[test]
fn a_queue_stopped_by_a_full_ring_is_always_started_again() {
    check(Fixed::off(), 1);
}
