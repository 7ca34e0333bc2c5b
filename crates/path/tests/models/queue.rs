//! Model checks of the queue's two halves: the gates, the limit, the waker and resets together.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models queue::`

use std::sync::Arc;
use std::task::{Wake, Waker};

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::support::{Nothing, PACKET_BYTES, Reap, Submit, pair, send_until_asleep};
use taut_path::limit::{Dynamic, Fixed, LossBudget};
use taut_path::qdisc::Fifo;
use taut_path::queue::{self, Monitor};
use taut_path::{Frame, Limit, Packet, Queue, QueueConfig};

type Sender = queue::Sender<Submit, Fifo>;
type Completer<L> = queue::Completer<Reap, L>;

/// A queue over a ring of `slots`, all of which must be free before it restarts, with `packets` in
/// its discipline.
fn queue<L: Limit>(limit: L, slots: u32, packets: u32) -> (Sender, Completer<L>, Monitor) {
    queue_with(limit, slots, packets, Waker::noop().clone())
}

/// The same, with a waker of the completer.
fn queue_with<L: Limit>(
    limit: L,
    slots: u32,
    packets: u32,
    completer_waker: Waker,
) -> (Sender, Completer<L>, Monitor) {
    let (submit, reap, _) = pair(slots);
    let config = QueueConfig {
        restart_slots: Some(slots),
        completer_waker,
        ..QueueConfig::default()
    };
    let halves = Queue::builder(submit, reap)
        .with_limit(limit)
        .with_qdisc(Fifo::new(packets))
        .config(config)
        .build_halves(0);
    let (mut sender, completer, monitor) = halves.expect("valid settings");
    for index in 0..packets {
        let packet = Packet::new(Frame::new(index), PACKET_BYTES);
        sender.enqueue(packet, 0, &mut Nothing);
    }
    (sender, completer, monitor)
}

fn complete<L: Limit>(completer: &mut Completer<L>) {
    let batch = completer.complete(1, &mut Nothing);
    assert!(batch.is_ok(), "the driver returns submitted packets only");
}

/// With an empty device no completion will wake the sender.
fn assert_not_lost<L: Limit>(asleep: bool, sender: &Sender, completer: &Completer<L>) {
    let in_device = sender.counters().sent_packets as u32 - completer.completions().reaped;
    assert!(
        !asleep || completer.wakeups() > 0 || in_device > 0,
        "lost wake-up: asleep, and nothing in flight"
    );
}

fn check(limit: impl Limit + Clone + Send + Sync + 'static, slots: u32) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let (mut sender, mut completer, _) = queue(limit.clone(), slots, 2);
        let completing = thread::spawn(move || {
            complete(&mut completer);
            complete(&mut completer);
            completer
        });
        let asleep = send_until_asleep(&mut sender);
        let completer = completing.join().expect("the completer does not panic");
        assert_not_lost(asleep, &sender, &completer);
    });
}

#[test]
fn queue_stopped_by_its_limit_restarts() {
    check(Fixed::packets(1), 8);
}

#[test]
fn queue_stopped_by_linux_rule_restarts() {
    check(Dynamic::default(), 8);
}

#[test]
fn queue_stopped_by_the_loss_budget_restarts() {
    check(LossBudget::default(), 8);
}

#[test]
fn queue_stopped_by_a_full_ring_restarts() {
    check(Fixed::off(), 1);
}

/// For any schedule: every packet completes once, and the ledger is right.
fn drain<L: Limit>(mut sender: Sender, mut completer: Completer<L>, packets: u64) {
    for _ in 0..=packets {
        send_until_asleep(&mut sender);
        complete(&mut completer);
    }
    let (sent, done) = (sender.counters(), completer.counters());
    assert_eq!(
        sent.sent_packets, packets,
        "lost wake-up: it does not run any more"
    );
    assert_eq!(done.completed_packets + done.stale_packets, packets);
    assert_eq!(completer.snapshot().in_flight, 0, "the ledger is wrong");
}

/// Counts wake-ups of the completer. As a real waker, it makes writes before the wake-up visible to
/// the woken thread.
#[derive(Default)]
struct Wakes(AtomicU32);

impl Wakes {
    fn count(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// A third thread requests resets while packets are sent and completed.
fn check_reset(limit: impl Limit + Clone + Send + Sync + 'static, requests: u32) {
    const PACKETS: u32 = 2;
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let wakes = Arc::new(Wakes::default());
        let waker = wakes.clone().into();
        let (mut sender, mut completer, monitor) = queue_with(limit.clone(), 8, PACKETS, waker);
        let completing = thread::spawn(move || {
            complete(&mut completer);
            completer
        });
        let requesting = thread::spawn(move || (0..requests).for_each(|_| monitor.request_reset()));
        let asleep = send_until_asleep(&mut sender);
        let mut completer = completing.join().expect("the completer does not panic");
        requesting.join().expect("to request does not panic");
        assert!(wakes.count() > 0, "a request wakes the completer");
        // Woken, or at its next wake-up time at the latest, the completer runs again.
        complete(&mut completer);
        assert_not_lost(asleep, &sender, &completer);
        drain(sender, completer, PACKETS.into());
    });
}

#[test]
fn requested_reset_loses_no_packet_or_wakeup() {
    check_reset(Fixed::packets(1), 1);
}

#[test]
fn two_requested_resets_leave_the_ledger_right() {
    check_reset(Fixed::off(), 2);
}

/// Two threads request a reset at the same time: one reset or two, and never none.
#[test]
fn concurrent_reset_requests_are_never_lost() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let (mut sender, mut completer, monitor) = queue(Fixed::off(), 8, 1);
        let other = monitor.clone();
        let requesting = thread::spawn(move || other.request_reset());
        monitor.request_reset();
        let asleep = send_until_asleep(&mut sender);
        requesting.join().expect("to request does not panic");
        complete(&mut completer);
        send_until_asleep(&mut sender);
        complete(&mut completer);
        assert!(!asleep || completer.wakeups() > 0, "lost wake-up");
        let resets = completer.counters().resets;
        assert!((1..=2).contains(&resets), "{resets} resets");
        drain(sender, completer, 1);
    });
}
