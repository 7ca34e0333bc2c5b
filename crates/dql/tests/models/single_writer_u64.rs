//! The `u64` of targets without 64-bit atomics: one writer, and readers that never see half a
//! store.

use loom::sync::Arc;
use loom::thread;
use taut_dql::sharing::Wide;
use taut_dql::sync::{AtomicU32, Ordering, TwoSlots as SingleWriterU64};

use crate::check;

/// Both halves identify their store.
const fn value(store: u64) -> u64 {
    store << 32 | store
}

fn is_whole(value: u64) -> bool {
    value >> 32 == value & u64::from(u32::MAX)
}

/// A reader during three stores: both slots are written again while it might read them.
fn read_while_written(load: fn(&SingleWriterU64) -> u64) {
    check(move || {
        let written = Arc::new(SingleWriterU64::new(value(7)));
        let writer = {
            let written = written.clone();
            thread::spawn(move || (8..11).for_each(|store| written.store(value(store))))
        };
        let (first, second) = (load(&written), load(&written));
        for read in [first, second] {
            assert!(is_whole(read), "half a store: {read:x}");
        }
        assert!(first <= second, "back from {first:x} to {second:x}");
        writer.join().unwrap();
        assert_eq!(load(&written), value(10));
    });
}

#[test]
fn load_returns_whole_stores_in_order() {
    read_while_written(SingleWriterU64::load);
}

#[test]
#[should_panic(expected = "half a store")]
fn load_without_recheck_reads_half_a_store() {
    read_while_written(SingleWriterU64::load_without_recheck);
}

#[test]
fn reader_of_a_value_sees_earlier_writes() {
    check(|| {
        let shared = Arc::new((AtomicU32::new(0), SingleWriterU64::new(0)));
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                for store in 1..3 {
                    shared.0.store(store, Ordering::Relaxed);
                    shared.1.store(value(store.into()));
                }
            })
        };
        let seen = shared.1.load() as u32;
        assert!(shared.0.load(Ordering::Relaxed) >= seen);
        writer.join().unwrap();
    });
}
