//! Model checks of the waker: a sender that must wait is woken exactly once.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib room::models`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use loom::thread;

use std::sync::Arc as StdArc;
use std::task::{Wake, Waker};

use super::RoomWaker;
use crate::sharing::Threads;

struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn waiting_sender_is_woken_exactly_once() {
    loom::model(|| {
        let wakes = StdArc::new(CountWakes(AtomicUsize::new(0)));
        let waker = Arc::new(RoomWaker::<Threads>::new(Waker::from(wakes.clone())));
        let room = Arc::new(AtomicU32::new(0));
        let sender = {
            let (waker, room) = (waker.clone(), room.clone());
            thread::spawn(move || waker.must_wait(|| room.load(Ordering::Relaxed) > 0))
        };
        room.store(1, Ordering::Relaxed);
        let notified = waker.notify();
        let waits = sender.join().expect("the sender does not panic");
        let woken = wakes.0.load(Ordering::Relaxed);
        if waits {
            assert_eq!(woken, 1, "lost wake-up: the sender sleeps for ever");
        }
        assert_eq!(woken, usize::from(notified));
        assert_eq!(waker.wakeups(), woken as u32);
    });
}
