//! Permits for tasks: fair, bounded, and without leaks when futures are dropped.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use proptest::prelude::*;
use taut_dql::tasks::{Acquire, AcquireError, Limiter, Permit};
use taut_dql::{Config, Error, MAX_OBJECT};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A waiting task.
struct Task {
    woken: Arc<Woken>,
    seen: usize,
    future: Pin<Box<Acquire>>,
}

impl Task {
    fn new(limiter: &Limiter, units: u32) -> Self {
        Self {
            woken: Arc::default(),
            seen: 0,
            future: Box::pin(limiter.acquire(units)),
        }
    }

    fn poll(&mut self) -> Poll<Result<Permit, AcquireError>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn was_woken(&mut self) -> bool {
        let now = self.woken.0.load(Ordering::SeqCst);
        std::mem::replace(&mut self.seen, now) != now
    }
}

fn fixed(limit: u32, waiters: usize) -> Limiter {
    let config = Config {
        limit,
        min_limit: limit,
        max_limit: limit,
        ..Config::default()
    };
    Limiter::with_config(config, waiters).expect("valid")
}

fn ready(poll: Poll<Result<Permit, AcquireError>>) -> Permit {
    match poll {
        Poll::Ready(permit) => permit.expect("a permit"),
        Poll::Pending => panic!("waits"),
    }
}

#[test]
fn first_come_first_served() {
    let limiter = fixed(10, 100);
    let held = ready(Task::new(&limiter, 11).poll());
    let mut tasks: Vec<_> = (0..5).map(|_| Task::new(&limiter, 11)).collect();
    for task in &mut tasks {
        assert!(task.poll().is_pending());
    }
    assert!(
        limiter.try_acquire(1).expect("countable").is_none(),
        "tasks are served in order"
    );
    drop(held);
    for at in 0..5 {
        let woken: Vec<_> = tasks.iter_mut().map(Task::was_woken).collect();
        assert_eq!(woken.iter().position(|&it| it), Some(at), "{woken:?}");
        // A request that is not the first must keep waiting.
        if at < 4 {
            assert!(tasks[4].poll().is_pending());
        }
        drop(ready(tasks[at].poll()));
    }
    assert_eq!((limiter.waiting(), limiter.snapshot().in_flight), (0, 0));
}

#[test]
fn room_for_several_wakes_several() {
    let limiter = fixed(10, 100);
    let held = ready(Task::new(&limiter, 11).poll());
    let mut tasks: Vec<_> = (0..4).map(|_| Task::new(&limiter, 4)).collect();
    for task in &mut tasks {
        assert!(task.poll().is_pending());
    }
    drop(held);
    let mut permits = vec![];
    for task in &mut tasks {
        if task.was_woken() {
            permits.push(ready(task.poll()));
        }
    }
    assert_eq!(permits.len(), 3, "4 + 4 is not above 10");
    assert_eq!(limiter.snapshot().in_flight, 12);
}

#[test]
fn dropped_waiter_passes_its_wake_up_on() {
    let limiter = fixed(10, 100);
    let held = ready(Task::new(&limiter, 11).poll());
    let (mut first, mut second) = (Task::new(&limiter, 1), Task::new(&limiter, 1));
    assert!(first.poll().is_pending() && second.poll().is_pending());
    drop(held);
    assert!(first.was_woken() && !second.was_woken());
    drop(first);
    assert!(second.was_woken());
    drop(ready(second.poll()));
}

#[test]
fn waiters_are_bounded_and_units_are_checked() {
    let limiter = fixed(0, 1);
    let _held = ready(Task::new(&limiter, 1).poll());
    let mut waits = Task::new(&limiter, 1);
    assert!(waits.poll().is_pending());
    match Task::new(&limiter, 1).poll() {
        Poll::Ready(Err(AcquireError::TooManyWaiters(error))) => assert_eq!(error.max, 1),
        other => panic!("{other:?}"),
    }
    let limiter = Limiter::new();
    let units = MAX_OBJECT + 1;
    match Task::new(&limiter, units).poll() {
        Poll::Ready(Err(AcquireError::Uncountable(error))) => {
            assert_eq!(error, Error::ObjectTooLarge { units });
        }
        other => panic!("{other:?}"),
    }
    assert!(limiter.try_acquire(units).is_err());
    assert_eq!(limiter.snapshot().in_flight, 0);
    let crossed = Config {
        min_limit: 2,
        max_limit: 1,
        ..Config::default()
    };
    assert!(Limiter::with_config(crossed, 1).is_err());
}

/// A service that processes one object at a time, in a time proportional to its size.
#[test]
fn limit_keeps_a_service_busy_with_little_queueing() {
    let limiter = Limiter::new();
    let mut work: VecDeque<Permit> = VecDeque::new();
    let mut waiting: VecDeque<Task> = (0..64).map(|_| Task::new(&limiter, 1000)).collect();
    let (mut most, mut idle) = (0, 0);
    for batch in 0..10_000 {
        for _ in 0..waiting.len() {
            let Some(mut task) = waiting.pop_front() else {
                break;
            };
            match task.poll() {
                Poll::Ready(permit) => {
                    work.push_back(permit.expect("permit"));
                    waiting.push_back(Task::new(&limiter, 1000));
                }
                Poll::Pending => {
                    waiting.push_front(task);
                    break;
                }
            }
        }
        if batch > 1000 {
            most = most.max(work.len());
            idle += usize::from(work.is_empty());
        }
        work.pop_front();
    }
    assert!(most <= 3, "{most} objects wait");
    assert_eq!(idle, 0);
}

#[test]
fn no_permit_is_lost_between_threads() {
    let limiter = fixed(3, 1000);
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let future = limiter.acquire(2);
                    let permit = block_on(future).expect("permit");
                    count.fetch_add(1, Ordering::Relaxed);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 8_000);
    assert_eq!((limiter.waiting(), limiter.snapshot().in_flight), (0, 0));
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

proptest! {
    /// Requests, polls, drops and completions in any order: a waiting task is woken if there is
    /// room, and nothing stays in flight at the end.
    #[test]
        fn nothing_leaks_and_every_waiter_is_woken(
        steps in prop::collection::vec((0_u8..4, any::<usize>(), 0_u32..5_000), 1..200),
    ) {
        let limiter = Limiter::new();
        let mut waiting: Vec<Task> = vec![];
        let mut held: Vec<Permit> = vec![];
        for (step, nth, units) in steps {
            match step {
                0 => {
                    let mut task = Task::new(&limiter, units.max(1));
                    match task.poll() {
                        Poll::Ready(permit) => held.push(permit.expect("permit")),
                        Poll::Pending => waiting.push(task),
                    }
                }
                1 if !waiting.is_empty() => drop(waiting.remove(nth % waiting.len())),
                2 if !held.is_empty() => drop(held.swap_remove(nth % held.len())),
                _ => {}
            }
            // A runtime polls woken tasks.
            while let Some(at) = waiting.iter_mut().position(Task::was_woken) {
                if let Poll::Ready(permit) = waiting[at].poll() {
                    held.push(permit.expect("permit"));
                    waiting.remove(at);
                }
            }
            let units: u32 = held.iter().map(Permit::units).sum();
            prop_assert_eq!(limiter.snapshot().in_flight, units);
            prop_assert_eq!(limiter.waiting(), waiting.len());
            prop_assert!(waiting.is_empty() || limiter.snapshot().room < 0, "forgotten");
        }
        drop((waiting, held));
        prop_assert_eq!((limiter.snapshot().in_flight, limiter.waiting()), (0, 0));
    }
}

/// `select!` keeps a future, and polls it only in some iterations.
#[test]
fn kept_future_costs_one_completion() {
    let limiter = fixed(2, 100);
    let mut held: Vec<_> = (0..3)
        .map(|_| ready(Task::new(&limiter, 1).poll()))
        .collect();
    let (mut kept, mut live) = (Task::new(&limiter, 1), Task::new(&limiter, 1));
    assert!(kept.poll().is_pending() && live.poll().is_pending());
    held.pop();
    assert!(kept.was_woken() && !live.was_woken());
    held.pop();
    assert!(
        live.was_woken(),
        "the second completion passes the first task"
    );
    drop(ready(live.poll()));
    drop(ready(kept.poll()));
}

#[test]
fn idle_limiter_passes_a_kept_future() {
    let limiter = fixed(0, 100);
    let held = ready(Task::new(&limiter, 1).poll());
    let (mut kept, mut live) = (Task::new(&limiter, 1), Task::new(&limiter, 1));
    assert!(kept.poll().is_pending() && live.poll().is_pending());
    drop(held);
    assert!(kept.was_woken() && !live.was_woken());
    // No completion follows, so a later request wakes itself and then the next task.
    let mut later = Task::new(&limiter, 1);
    assert!(later.poll().is_pending() && later.was_woken());
    assert!(later.poll().is_pending() && live.was_woken());
    drop(ready(live.poll()));
    assert!(later.was_woken());
    drop(ready(later.poll()));
    drop(ready(kept.poll()));
}
