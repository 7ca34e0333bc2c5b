//! Permits for tasks, under a measured limit.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Priority, Ticket, TooManyWaiters, WaitQueue};
use crate::{Config, Dql, Error, Snapshot};

/// Default capacity of the wait queue, in tasks.
const WAITERS: usize = 65_536;

/// Limits the work in flight of a service: as much as keeps it busy, and no more. It replaces a
/// guessed concurrency.
///
/// # Suitable services
/// **One bottleneck that processes its work in order**: a link, a disk, a device, a single thread.
/// More work in flight than keeps it busy only waits there.
///
/// **Not a service that processes many requests in parallel** (a worker pool, a store that answers
/// 64 requests in the time of one). The rule raises the limit when everything in flight completes
/// while more work was waiting. Such a service completes requests one by one and never all of them,
/// so the limit stays at 2 or 3 objects. Use a semaphore of the service's width or a latency-based
/// limiter instead, or count batches: send each batch and await it as a whole.
///
/// # Use
/// Count the unit that determines the service's time: bytes for uploads, requests for a service
/// with a fixed cost per request. The limit is that of [`Dql`], measured from completions. One
/// object may exceed it.
///
/// Cheap to clone; clones share the limit. It has no runtime, thread or timer. Permits are granted
/// in the order of the requests. A woken future that is not polled (for example, held by a
/// `select!`) reserves nothing. The next completion wakes the next task in the queue.
///
/// ```
/// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
/// #     let mut future = std::pin::pin!(future);
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     loop {
/// #         if let std::task::Poll::Ready(it) = future.as_mut().poll(&mut context) { return it; }
/// #     }
/// # }
/// # async fn upload(_: &[u8]) {}
/// # block_on(async {
/// let uploads = taut_dql::tasks::Limiter::new();
/// for chunk in [[0; 1000], [1; 1000]] {
///     let permit = uploads.acquire(1000).await?; // waits for room
///     upload(&chunk).await; // or in another task, which takes the permit
///     drop(permit); // completed or cancelled: no longer in flight
/// }
/// # Ok::<(), taut_dql::tasks::AcquireError>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Limiter {
    shared: Arc<Mutex<State>>,
}

struct State {
    /// The origin of all times.
    start: Instant,
    dql: Dql,
    waiters: WaitQueue,
}

impl State {
    /// Passes a woken task that has not been polled, if no completion will do that.
    fn pass_if_idle(&mut self) {
        if self.dql.in_flight() == 0 && self.dql.has_room() {
            self.waiters.pass_unpolled();
        }
    }
}

/// The reason why no permit was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The wait queue is full.
    TooManyWaiters(TooManyWaiters),
    /// The units cannot be counted.
    Uncountable(Error),
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyWaiters(error) => error.fmt(f),
            Self::Uncountable(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AcquireError {}

impl Limiter {
    /// A limiter whose limit starts at 0: the first task is admitted alone. At most 65,536 tasks
    /// wait.
    #[must_use]
    pub fn new() -> Self {
        Self::from_dql(Dql::new(0), WAITERS)
    }

    /// A limiter with explicit settings, in the caller's units, for at most `waiters` waiting
    /// tasks.
    ///
    /// # Errors
    /// Those of [`Config::validate`].
    pub fn with_config(config: Config, waiters: usize) -> Result<Self, Error> {
        Ok(Self::from_dql(Dql::with_config(config, 0)?, waiters))
    }

    fn from_dql(dql: Dql, waiters: usize) -> Self {
        Self {
            shared: Arc::new(Mutex::new(State {
                start: Instant::now(),
                dql,
                waiters: WaitQueue::new(waiters),
            })),
        }
    }

    /// Waits in order for room, and takes `units` of it. Dropping the future releases the place and
    /// takes nothing.
    ///
    /// # Errors
    /// When it is polled: [`AcquireError::TooManyWaiters`]; [`AcquireError::Uncountable`] for more
    /// than [`MAX_OBJECT`](crate::MAX_OBJECT) units.
    pub fn acquire(&self, units: u32) -> Acquire {
        Acquire {
            limiter: self.clone(),
            units,
            place: None,
            joined_idle: false,
        }
    }

    /// Takes `units` if there is room and no task waits for it; otherwise returns `Ok(None)`.
    ///
    /// # Errors
    /// [`AcquireError::Uncountable`] for more than [`MAX_OBJECT`](crate::MAX_OBJECT) units.
    pub fn try_acquire(&self, units: u32) -> Result<Option<Permit>, AcquireError> {
        let mut state = self.lock();
        if !state.waiters.is_turn(None, Priority::Normal) || !state.dql.has_room() {
            state.pass_if_idle();
            wake_next(state);
            return Ok(None);
        }
        state.dql.queued(units).map_err(AcquireError::Uncountable)?;
        Ok(Some(self.permit(units)))
    }

    /// Returns the number of waiting tasks.
    pub fn waiting(&self) -> usize {
        self.lock().waiters.len()
    }

    /// Returns the state of the limit.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().dql.snapshot()
    }

    fn permit(&self, units: u32) -> Permit {
        Permit {
            limiter: self.clone(),
            units,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock panics.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Limiter")
            .field("limit", &state.dql.limit())
            .field("in_flight", &state.dql.in_flight())
            .field("waiting", &state.waiters.len())
            .finish()
    }
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new()
    }
}

/// Wakes the first waiting task if there is room for it, after the lock is released.
fn wake_next(mut state: MutexGuard<'_, State>) {
    let next = match state.dql.has_room() {
        true => state.waiters.wake_next(),
        false => None,
    };
    drop(state);
    next.into_iter().for_each(Waker::wake);
}

/// A permit. Dropping it completes the work, whether done or not.
#[derive(Debug)]
#[must_use = "dropping it immediately completes the work"]
pub struct Permit {
    limiter: Limiter,
    units: u32,
}

impl Permit {
    /// Returns the units that it takes of the limit.
    pub fn units(&self) -> u32 {
        self.units
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        // Read under the lock: times must not go back.
        let now_ns = state.start.elapsed().as_nanos() as u64;
        let counted = state.dql.completed(self.units, now_ns);
        debug_assert!(counted.is_ok(), "{counted:?}");
        if state.dql.has_room() {
            state.waiters.pass_unpolled();
        }
        wake_next(state);
    }
}

/// The future of [`Limiter::acquire`]. It is not fused: if it is polled again after it was ready,
/// it requests another permit.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Acquire {
    limiter: Limiter,
    units: u32,
    place: Option<Ticket>,
    /// It joined while nothing was in flight, so that no completion passes a kept future.
    joined_idle: bool,
}

impl Future for Acquire {
    type Output = Result<Permit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut state = this.limiter.lock();
        let has_room = state.dql.has_room();
        if has_room && state.waiters.is_turn(this.place.as_ref(), Priority::Normal) {
            let taken = state.dql.queued(this.units);
            if let Some(place) = this.place.take() {
                state.waiters.leave(place);
            }
            wake_next(state);
            taken.map_err(AcquireError::Uncountable)?;
            return Poll::Ready(Ok(this.limiter.permit(this.units)));
        }
        match &this.place {
            Some(place) => {
                state.waiters.set_waker(place, context.waker());
                if std::mem::take(&mut this.joined_idle) {
                    state.pass_if_idle();
                    wake_next(state);
                }
            }
            None => {
                let joined = state.waiters.join(Priority::Normal, context.waker());
                this.place = Some(joined.map_err(AcquireError::TooManyWaiters)?);
                this.joined_idle = has_room && state.dql.in_flight() == 0;
                drop(state);
                // If the woken task is still not polled when this one is polled again, this one
                // passes it.
                if this.joined_idle {
                    context.waker().wake_by_ref();
                }
            }
        }
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            let mut state = self.limiter.lock();
            state.waiters.leave(place);
            wake_next(state);
        }
    }
}
