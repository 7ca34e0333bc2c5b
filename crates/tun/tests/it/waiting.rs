//! Waiting for packets: wake-ups, cancellation, and many waiting tasks.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

use taut_path::AnyLimit;
use taut_tun::Tunnel;

use crate::common::{PATIENCE, packet};

#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn tunnel() -> Tunnel<Vec<u8>> {
    let builder = Tunnel::builder().qdisc("pfifo limit 100000");
    builder
        .limit(AnyLimit::bytes(1 << 30))
        .build()
        .expect("tunnel")
}

#[test]
fn cancelled_waits_lose_nothing() {
    let tunnel = tunnel();
    let mut received = Vec::new();
    for number in 0..1_000 {
        // Dropped after each poll, with and without a packet that arrives in between.
        let mut batch = Vec::new();
        let mut wait = Box::pin(tunnel.next_batch(&mut batch, 3));
        let mut context = Context::from_waker(Waker::noop());
        let first = wait.as_mut().poll(&mut context);
        if number % 3 != 0 {
            tunnel.push(packet(number, 100));
        }
        if number % 2 == 0 && first.is_pending() {
            let _ = wait.as_mut().poll(&mut context);
        }
        drop(wait);
        received.append(&mut batch);
        let _ = pin!(tunnel.next_batch(&mut batch, 1)).poll(&mut context);
        received.append(&mut batch);
    }
    assert_eq!(received.len(), 666);
    let state = tunnel.snapshot(0);
    assert_eq!(state.queue.enqueued_packets, 666);
    assert_eq!(state.counters.released_packets, 666);
}

#[test]
fn waiting_task_is_woken_by_a_packet() {
    let tunnel = tunnel();
    let waker = Arc::new(CountingWaker::default());
    let shared = Waker::from(Arc::clone(&waker));
    let mut batch = Vec::new();
    let mut wait = Box::pin(tunnel.next_batch(&mut batch, 3));
    let mut context = Context::from_waker(&shared);
    assert!(wait.as_mut().poll(&mut context).is_pending());
    assert!(wait.as_mut().poll(&mut context).is_pending());
    tunnel.push(packet(0, 100));
    assert_eq!(waker.0.load(Ordering::Relaxed), 1, "registered once");
    assert!(wait.as_mut().poll(&mut context).is_ready());
}

#[test]
fn dropped_tasks_do_not_accumulate() {
    let tunnel = tunnel();
    let waker = Arc::new(CountingWaker::default());
    for _ in 0..10_000 {
        // Each is another task.
        let task = Arc::new(CountingWaker::default());
        let outer = Arc::clone(&waker);
        let shared = Waker::from(Arc::new(Both(task, outer)));
        let mut batch = Vec::new();
        let wait = pin!(tunnel.next_batch(&mut batch, 1));
        assert!(wait.poll(&mut Context::from_waker(&shared)).is_pending());
    }
    assert!(
        Arc::strong_count(&waker) <= 66,
        "{} registered",
        Arc::strong_count(&waker)
    );
    let woken = waker.0.load(Ordering::Relaxed);
    assert_eq!(
        woken + Arc::strong_count(&waker) - 1,
        10_000,
        "no task is forgotten"
    );
}

struct Both(Arc<CountingWaker>, Arc<CountingWaker>);

impl Wake for Both {
    fn wake(self: Arc<Self>) {
        Arc::clone(&self.0).wake();
        Arc::clone(&self.1).wake();
    }
}

#[test]
fn waiting_thread_is_woken_by_a_packet() {
    let tunnel = tunnel();
    let pushes = tunnel.clone();
    let mut count = 0;
    thread::scope(|scope| {
        scope.spawn(move || (0..200).for_each(|flow| pushes.push(packet(flow, 100))));
        let mut batch = Vec::new();
        while count < 200 {
            assert!(
                tunnel.wait_next_batch(&mut batch, 7, PATIENCE),
                "{count} received"
            );
            assert!(batch.len() <= 7);
            count += batch.len();
            batch.clear();
        }
    });
    let mut batch = Vec::new();
    assert!(!tunnel.wait_next_batch(&mut batch, 7, std::time::Duration::from_millis(1)));
}
