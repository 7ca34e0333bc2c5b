//! Model checks of state shared by two threads, with the original source. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-linux --lib models`.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;

use crate::handover::handover;
use crate::shared_ring::{Consumer, Memory, Producer};

const SLOTS: usize = 2;

/// A ring whose broken variant stores its positions without release ordering.
struct Ring<const BROKEN: bool> {
    producer: AtomicU32,
    consumer: AtomicU32,
    entries: [AtomicU32; SLOTS],
}

impl<const BROKEN: bool> Ring<BROKEN> {
    const STORE: Ordering = if BROKEN {
        Ordering::Relaxed
    } else {
        Ordering::Release
    };

    /// A ring whose positions are about to wrap.
    fn new() -> std::sync::Arc<Self> {
        let at = u32::MAX;
        std::sync::Arc::new(Self {
            producer: AtomicU32::new(at),
            consumer: AtomicU32::new(at),
            entries: [AtomicU32::new(0), AtomicU32::new(0)],
        })
    }
}

impl<const BROKEN: bool> Memory for Ring<BROKEN> {
    type Entry = u32;

    fn produced(&self) -> u32 {
        self.producer.load(Ordering::Acquire)
    }

    fn consumed(&self) -> u32 {
        self.consumer.load(Ordering::Acquire)
    }

    fn publish(&self, position: u32) {
        self.producer.store(position, Self::STORE);
    }

    fn release(&self, position: u32) {
        self.consumer.store(position, Self::STORE);
    }

    fn needs_wakeup(&self) -> bool {
        false
    }

    fn slots(&self) -> u32 {
        SLOTS as u32
    }

    fn read(&self, position: u32) -> u32 {
        self.entries[position as usize % SLOTS].load(Ordering::Relaxed)
    }

    fn write(&self, position: u32, entry: u32) {
        self.entries[position as usize % SLOTS].store(entry, Ordering::Relaxed);
    }
}

/// One side fills a ring of two slots with three entries, the other takes them in order.
fn entries_arrive_in_order<const BROKEN: bool>() {
    loom::model(|| {
        let ring = Ring::<BROKEN>::new();
        let (mut producer, mut consumer) = (Producer::new(ring.clone()), Consumer::new(ring));
        let filler = thread::spawn(move || {
            for entry in 1..=3 {
                while !producer.push(entry) {
                    thread::yield_now();
                }
                producer.publish();
            }
        });
        for expected in 1..=3 {
            let entry = loop {
                if let Some(entry) = consumer.pop() {
                    break entry;
                }
                thread::yield_now();
            };
            assert_eq!(entry, expected);
            consumer.release();
        }
        filler.join().expect("fills");
    });
}

#[test]
fn ring_passes_written_entries() {
    entries_arrive_in_order::<false>();
}

#[test]
#[should_panic(expected = "left == right")]
fn a_ring_that_does_not_publish_is_caught() {
    entries_arrive_in_order::<true>();
}

/// An end that is in use until it is dropped. The new one has no flag.
struct TrackedEnd(Option<Arc<AtomicBool>>);

impl Drop for TrackedEnd {
    fn drop(&mut self) {
        if let Some(in_use) = &self.0 {
            in_use.store(false, Ordering::Relaxed);
        }
    }
}

/// One half has an end. The other requests it, and must not continue before it was dropped.
fn end_is_released_first(keeps_end: bool) {
    loom::model(move || {
        let (giver, mut taker) = handover();
        let in_use = Arc::new(AtomicBool::new(true));
        giver.give(TrackedEnd(Some(in_use.clone())));
        taker.update();
        let holder = thread::spawn(move || {
            let is_new = |end: &TrackedEnd| end.0.is_none();
            while !taker.end.as_ref().is_some_and(is_new) {
                let kept = keeps_end.then(|| taker.end.take());
                taker.update();
                drop(kept);
                thread::yield_now();
            }
        });
        giver.request_release();
        while !giver.has_released() {
            thread::yield_now();
        }
        assert!(!in_use.load(Ordering::Relaxed), "left == right");
        giver.give(TrackedEnd(None));
        holder.join().expect("takes");
    });
}

#[test]
fn released_end_has_no_user() {
    end_is_released_first(false);
}

#[test]
#[should_panic(expected = "left == right")]
fn end_in_use_after_its_release_is_detected() {
    end_is_released_first(true);
}
