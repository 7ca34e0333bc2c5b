//! Permits for tasks, under a limit that is learnt.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Ticket, TooManyWaiters, WaitQueue};
use crate::{Config, Dql, Error, Snapshot};

/// Tasks that may wait at a time, if nobody says otherwise.
const WAITERS: usize = 65_536;

/// Holds tasks back by what a service has not finished yet: as much in flight as keeps it busy, and
/// no more. In place of a concurrency that somebody guessed.
///
/// # What it fits
/// **One bottleneck that works off what it is given in turn**: a link, a disk, a device, a single thread.
/// More under way than keeps that busy only waits there.
///
/// **Not a service that works on many things side by side** (a pool of workers, a store that
/// answers 64 requests at once in the time of one). The rule raises the limit when everything that
/// was under way completes and more was wanted. There completions come one by one, never does all
/// of it complete, and the limit stays at 2 or 3 objects however many the service could take. Use a
/// semaphore of the service's width there, or a limiter that learns from latency; or count batches,
/// where each batch is sent and awaited as a whole.
///
/// # Use
/// Count what the service spends its time on: bytes for uploads, requests for a service whose cost is
/// per request. The limit is that of [`Dql`], learnt from what completes; one object may exceed it.
///
/// Cheap to clone; clones share the limit. No runtime, no thread and no timer of its own. Permits
/// are given in the order in which they were asked for.
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
///     let permit = uploads.acquire(1000).await?; // waits while enough is under way
///     upload(&chunk).await; // in a task of its own, with the permit
///     drop(permit); // done, or given up: either way nothing of it is in flight
/// }
/// # Ok::<(), taut_dql::tasks::AcquireError>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Limiter {
    shared: Arc<LimiterState>,
}

struct LimiterState {
    /// What times count from.
    start: Instant,
    state: Mutex<State>,
}

struct State {
    dql: Dql,
    turns: WaitQueue,
}

/// Why there is no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// As many tasks wait as may.
    TooManyWaiters(TooManyWaiters),
    /// It cannot be counted.
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
    /// A limiter that learns its limit from 0: the first task goes alone.
    #[must_use]
    pub fn new() -> Self {
        Self::from_dql(Dql::new(0), WAITERS)
    }

    /// A limiter with settings of the caller's, in the caller's units, for at most `waiters` tasks
    /// that wait.
    ///
    /// # Errors
    /// Those of [`Config::validate`].
    pub fn with_config(config: Config, waiters: usize) -> Result<Self, Error> {
        config.validate()?;
        let dql = Dql::with_config(config, 0)?;
        Ok(Self::from_dql(dql, waiters))
    }

    fn from_dql(dql: Dql, waiters: usize) -> Self {
        Self {
            shared: Arc::new(LimiterState {
                start: Instant::now(),
                state: Mutex::new(State {
                    dql,
                    turns: WaitQueue::new(waiters),
                }),
            }),
        }
    }

    /// Waits in turn for room, and takes `units` of it. Dropping the future gives the place up and
    /// takes nothing.
    ///
    /// # Errors
    /// When it is polled: [`AcquireError::TooManyWaiters`]; [`AcquireError::Uncountable`] for more than
    /// [`MAX_OBJECT`](crate::MAX_OBJECT) units.
    pub fn acquire(&self, units: u32) -> Acquire {
        Acquire {
            limiter: self.clone(),
            units,
            place: None,
        }
    }

    /// Takes `units` if there is room and nobody waits for it.
    ///
    /// # Errors
    /// [`AcquireError::Uncountable`] for more than [`MAX_OBJECT`](crate::MAX_OBJECT) units.
    pub fn try_acquire(&self, units: u32) -> Result<Option<Permit>, AcquireError> {
        let mut state = self.lock();
        if !state.turns.is_empty() || !state.dql.has_room() {
            return Ok(None);
        }
        state.dql.queued(units).map_err(AcquireError::Uncountable)?;
        Ok(Some(self.permit(units)))
    }

    /// Tasks that wait.
    pub fn waiting(&self) -> usize {
        self.lock().turns.len()
    }

    /// Everything else at this moment.
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
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, units: u32) {
        let mut state = self.lock();
        // Read under the lock: times must not go back.
        let now_ns = self.shared.start.elapsed().as_nanos() as u64;
        let told = state.dql.completed(units, now_ns);
        debug_assert!(told.is_ok(), "{told:?}");
        wake_next(state);
    }
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Limiter")
            .field("limit", &state.dql.limit())
            .field("in_flight", &state.dql.in_flight())
            .field("waiting", &state.turns.len())
            .finish()
    }
}

/// Wakes whoever is next if there is room for it, after the lock is let go of.
fn wake_next(state: MutexGuard<'_, State>) {
    let next = match state.dql.has_room() {
        true => state.turns.first().cloned(),
        false => None,
    };
    drop(state);
    next.into_iter().for_each(Waker::wake);
}

/// Room that was taken. Dropping it says that the work is over, done or not.
#[derive(Debug)]
#[must_use = "dropping it at once says that the work is over"]
pub struct Permit {
    limiter: Limiter,
    units: u32,
}

impl Permit {
    /// How much of the limit it takes, in units.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// The work is over. The same as dropping it.
    pub fn complete(self) {}
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.finish(self.units);
    }
}

/// The future of [`Limiter::acquire`]. It is not fused: polled again after it was ready, it asks
/// for another permit.
#[derive(Debug)]
#[must_use = "a future does nothing until it is awaited"]
pub struct Acquire {
    limiter: Limiter,
    units: u32,
    place: Option<Ticket>,
}

impl Future for Acquire {
    type Output = Result<Permit, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut state = this.limiter.lock();
        let first = match &this.place {
            Some(place) => state.turns.is_first(place),
            None => state.turns.is_empty(),
        };
        if first && state.dql.has_room() {
            let taken = state.dql.queued(this.units);
            if let Some(place) = this.place.take() {
                state.turns.leave(place);
            }
            wake_next(state);
            return Poll::Ready(match taken {
                Ok(()) => Ok(this.limiter.permit(this.units)),
                Err(error) => Err(AcquireError::Uncountable(error)),
            });
        }
        match &this.place {
            Some(place) => state.turns.set_waker(place, context.waker()),
            None => match state.turns.join(context.waker()) {
                Ok(place) => this.place = Some(place),
                Err(error) => return Poll::Ready(Err(AcquireError::TooManyWaiters(error))),
            },
        }
        Poll::Pending
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            let mut state = self.limiter.lock();
            state.turns.leave(place);
            wake_next(state);
        }
    }
}
