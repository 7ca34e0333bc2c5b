//! Model checks of the queue's two halves: the gates, the limit and the waker together.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models queue::`

use loom::thread;

use crate::support::{Nothing, PACKET_BYTES, Reap, pair, send_until_asleep};
use taut_path::limit::{Dynamic, Fixed, Need};
use taut_path::qdisc::Fifo;
use taut_path::queue::{QueueConfig, Reaper, split};
use taut_path::{Frame, Limit, Packet};

const PACKETS: u32 = 2;

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
        let (mut submit, reap, shared) = pair(slots);
        let completer = thread::spawn(move || complete_twice(reaper, reap));
        let asleep = send_until_asleep(&mut sender, &mut submit);
        let (reaped, wakeups) = completer.join().expect("the reaper does not panic");
        // With nothing in the device no completion will ever come to wake the sender.
        let in_device = shared.submitted() - reaped;
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
    // The ladder has the same halves; its accounts are larger than the checker's stacks.
    check(Need::default(), 8);
}

#[test]
fn a_queue_stopped_by_a_full_ring_is_always_started_again() {
    check(Fixed::off(), 1);
}
