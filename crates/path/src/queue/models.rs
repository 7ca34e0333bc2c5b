//! Model checks of the two halves with broken sharing: without fences they lose a wake-up, and the
//! check must detect that. With fences the same model passes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib models::`

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::thread;

use taut_dql::sync::SingleWriterU64;

use super::config::QueueConfig;
use super::context::Context;
use super::local::Queue;
use super::outcome::Stop;
use super::send::SendHalf;
use super::shared::Shared;
use crate::limit::Fixed;
use crate::models_support::{Nothing, PACKET_BYTES, Submit, pair};
use crate::packet::{Frame, Packet};
use crate::qdisc::Fifo;
use crate::sharing::{CacheAligned, Sharing, Threads};

/// Atomics without the fence between a write and the read that follows it.
#[derive(Debug, Default)]
struct Unfenced;

impl Sharing for Unfenced {
    type Word = AtomicU32;
    type Wide = SingleWriterU64;
    type Line<T> = CacheAligned<T>;
    const SHARED: bool = true;

    fn full_fence() {}
}

/// Sends until the sender would sleep. Returns `true` if it sleeps.
fn send_until_asleep<M: Sharing>(
    half: &mut SendHalf<Fifo, ()>,
    shared: &Shared<M>,
    ring: &mut Submit,
) -> bool {
    loop {
        let (mut sink, mut probe) = (Nothing, ());
        let at = Context::new(0, &mut sink, &mut probe);
        match half.run(shared, ring, at) {
            Stop::Idle => return false,
            Stop::Limit | Stop::RingFull => {
                let runs = || shared.is_open() || shared.reset.is_requested();
                if shared.room.must_wait(runs) {
                    return true;
                }
            }
            other => panic!("unexpected stop: {other:?}"),
        }
    }
}

fn check<M: Sharing>(limit: Fixed, slots: u32)
where
    Shared<M>: Send + Sync,
{
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let (ring, completions, counts) = pair(slots);
        let builder = Queue::builder(ring, completions)
            .with_limit(limit)
            .with_qdisc(Fifo::new(2))
            .config(QueueConfig {
                restart_slots: Some(slots),
                stall_threshold_ns: 0,
                ..QueueConfig::default()
            });
        let (prepared, shared) = builder.prepare::<M>(0).expect("valid settings");
        let (mut send, mut complete, (mut ring, mut completions), ()) = prepared.halves((), ());
        let shared = Arc::new(shared);
        for index in 0..2 {
            let packet = Packet::new(Frame::new(index), PACKET_BYTES);
            send.enqueue(&shared, packet, Context::new(0, &mut Nothing, &mut ()));
        }
        let completing = {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    let (mut sink, mut probe) = (Nothing, ());
                    let at = Context::new(1, &mut sink, &mut probe);
                    let completed = complete.complete(&*shared, &mut completions, at);
                    assert!(
                        completed.is_ok(),
                        "the driver returns submitted packets only"
                    );
                }
                completions.reaped
            })
        };
        let asleep = send_until_asleep(&mut send, &*shared, &mut ring);
        let reaped = completing.join().expect("the completer does not panic");
        let in_device = counts.submitted() - reaped;
        assert!(
            !asleep || shared.room.wakeups() > 0 || in_device > 0,
            "lost wake-up: asleep, and nothing in flight"
        );
    });
}

#[test]
fn fenced_halves_lose_no_wake_up() {
    check::<Threads>(Fixed::packets(1), 8);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn a_limit_without_fences_loses_a_wake_up() {
    check::<Unfenced>(Fixed::packets(1), 8);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn full_ring_without_fences_loses_a_wakeup() {
    check::<Unfenced>(Fixed::off(), 1);
}
