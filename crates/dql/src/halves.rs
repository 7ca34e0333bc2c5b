use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::counter;
use crate::estimator::{Estimator, Queued};
use crate::sync::Ordering;
use crate::{Config, Error, Shared, Snapshot};

/// The half of the thread that queues. It can move to another thread, but two threads cannot use
/// it at the same time, not even to look:
///
/// ```compile_fail,E0277
/// # use taut_dql::{Producer, Shared};
/// fn look_from_two_threads(producer: &Producer<&'static Shared>) {
///     std::thread::scope(|scope| {
///         scope.spawn(|| producer.room());
///     });
/// }
/// ```
/// The same moves to one other thread without complaint:
/// ```
/// # use taut_dql::{Producer, Shared};
/// fn hand_over(producer: Producer<&'static Shared>) {
///     std::thread::spawn(move || producer.room());
/// }
/// ```
#[derive(Debug)]
pub struct Producer<S> {
    shared: S,
    // The producer is its only writer, so its own copy is always current.
    num_queued: u32,
    not_sync: PhantomData<Cell<()>>,
}

/// The half of the thread that reaps what the device finished, and the only one that moves the
/// limit. It can move to another thread, but two threads cannot use it at the same time:
///
/// ```compile_fail,E0277
/// # use taut_dql::{Completer, Shared};
/// fn look_from_two_threads(completer: &Completer<&'static Shared>) {
///     std::thread::scope(|scope| {
///         scope.spawn(|| completer.room());
///     });
/// }
/// ```
#[derive(Debug)]
pub struct Completer<S> {
    shared: S,
    adj_limit: u32,
    estimator: Estimator,
    not_sync: PhantomData<Cell<()>>,
}

/// Makes the two halves of a queue, held by `&Shared`, `Arc<Shared>`, `&'static Shared` or
/// anything like them. A limit in `config` counts at once.
///
/// # Errors
/// Those of [`Config::validate`]; [`Error::AlreadySplit`] on the second call for one [`Shared`],
/// also when the first halves are gone; [`Error::NotTheSameQueue`] should a clone of `shared`
/// lead somewhere else.
pub fn split<S>(
    shared: S,
    config: Config,
    now_ns: u64,
) -> Result<(Producer<S>, Completer<S>), Error>
where
    S: Deref<Target = Shared> + Clone,
{
    config.validate()?;
    let other = shared.clone();
    if !core::ptr::eq::<Shared>(&*shared, &*other) {
        return Err(Error::NotTheSameQueue);
    }
    if !shared.claim() {
        return Err(Error::AlreadySplit);
    }
    let estimator = Estimator::from_valid(config, now_ns);
    let adj_limit = config.limit;
    let completer = Completer {
        shared: other,
        adj_limit,
        estimator,
        not_sync: PhantomData,
    };
    completer.publish();
    completer.publish_config();
    Ok((
        Producer {
            shared,
            num_queued: 0,
            not_sync: PhantomData,
        },
        completer,
    ))
}

/// Forgets what is in flight and starts again from the lower bound of the limit, with the settings
/// kept and the epoch one up (wrapping); for when the device was flushed. Whoever has both halves
/// knows that nobody queues or completes meanwhile; an observer may see a mix of before and after.
///
/// # Errors
/// [`Error::NotTheSameQueue`] for halves of two queues, which are both left as they were.
pub fn reset<S>(
    producer: &mut Producer<S>,
    completer: &mut Completer<S>,
    now_ns: u64,
) -> Result<(), Error>
where
    S: Deref<Target = Shared>,
{
    let shared: &Shared = &producer.shared;
    if !core::ptr::eq(shared, &*completer.shared) {
        return Err(Error::NotTheSameQueue);
    }
    completer.adj_limit = completer.estimator.reset(now_ns);
    completer.publish();
    shared.producer.publish(Queued {
        num_queued: 0,
        last_object: 0,
    });
    let epoch = shared.completer.epoch.load(Ordering::Relaxed);
    shared
        .completer
        .epoch
        .store(epoch.wrapping_add(1), Ordering::Relaxed);
    producer.num_queued = 0;
    Ok(())
}

impl<S: Deref<Target = Shared>> Producer<S> {
    /// Counts one object as handed to the device. Call it before the device can see the object,
    /// or its completion may be counted first and refused.
    ///
    /// Nothing is refused for being over the limit: ask [`has_room`](Producer::has_room) after
    /// each object and stop when it says no.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](crate::MAX_OBJECT), and
    /// [`Error::TooMuchInFlight`] when 2^31 units or more would be in flight, as far as this
    /// thread can see: a completion of this very moment may not count yet.
    #[inline]
    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        counter::check_object(self.in_flight(), units)?;
        self.num_queued = self.num_queued.wrapping_add(units);
        self.shared.producer.publish(Queued {
            num_queued: self.num_queued,
            last_object: units,
        });
        Ok(())
    }

    /// Units left below the limit; one more object may be queued while it is `>= 0`. The completer
    /// may raise or lower it at any time. See [the crate](crate#two-threads) on stopping a sender.
    #[inline]
    pub fn room(&self) -> i32 {
        counter::room(
            self.shared.completer.adj_limit.load(Ordering::Relaxed),
            self.num_queued,
        )
    }

    /// Whether one more object may be queued.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Units queued and not yet completed, below 2^31; the completer may lower it at any time.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.num_queued
            .wrapping_sub(self.shared.completer.num_completed.load(Ordering::Relaxed))
    }

    /// Total units queued since the last reset, wrapping.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        self.num_queued
    }

    /// How many resets there have been, wrapping; only [`reset`](crate::reset()) changes it.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.shared.completer.epoch.load(Ordering::Relaxed)
    }
}

impl<S: Deref<Target = Shared>> Completer<S> {
    /// Counts what the device finished since the last call, and moves the limit. Call it once for
    /// each round of completions; 0 units is a round too, and counts as a sample.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        let queued = self.shared.producer.read();
        self.adj_limit = self.estimator.completed(queued, units, now_ns)?;
        self.publish();
        Ok(())
    }

    /// Counts what the device finished under a limit that the caller's own rule chose, brought
    /// between the bounds in force: the ledger of this crate without its rule.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed_under(&mut self, limit: u32, units: u32) -> Result<(), Error> {
        let queued = self.shared.producer.read();
        self.adj_limit = self.estimator.completed_under(limit, queued, units)?;
        self.publish();
        Ok(())
    }

    #[inline]
    fn publish(&self) {
        self.shared
            .completer
            .publish(self.adj_limit, self.estimator.num_completed);
        self.shared.report.publish(&self.estimator);
    }

    fn publish_config(&self) {
        self.shared.report.publish_config(self.estimator.config());
    }

    /// Units left below the limit, with the producer's total read again; the producer may lower it
    /// at any time. For the side that restarts a stopped sender.
    #[inline]
    pub fn room(&self) -> i32 {
        counter::room(self.adj_limit, self.num_queued())
    }

    /// Whether one more object may be queued, with the producer's total read again.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Units queued and not yet completed, below 2^31; the producer may raise it at any time.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.num_queued().wrapping_sub(self.estimator.num_completed)
    }

    /// Total units queued since the last reset, wrapping; the producer may raise it at any time.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        self.shared.producer.num_queued.load(Ordering::Acquire)
    }

    /// Total units completed since the last reset, wrapping.
    #[inline]
    pub fn num_completed(&self) -> u32 {
        self.estimator.num_completed
    }

    /// The limit, in units. A limit set by hand is shown at once and in force from the next
    /// completion on.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.estimator.limit
    }

    /// How many resets there have been, wrapping; only [`reset`](crate::reset()) changes it.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.shared.completer.epoch.load(Ordering::Relaxed)
    }

    /// Sets the limit by hand, in units; the producer sees it at the next completion, which also
    /// brings it between its bounds.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT).
    pub fn set_limit(&mut self, limit: u32) -> Result<(), Error> {
        self.estimator.set_limit(limit)?;
        self.publish_config();
        Ok(())
    }

    /// Sets the lower bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// above the upper bound in force.
    pub fn set_min_limit(&mut self, min_limit: u32) -> Result<(), Error> {
        self.estimator.set_min_limit(min_limit)?;
        self.publish_config();
        Ok(())
    }

    /// Sets the upper bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// below the lower bound in force.
    pub fn set_max_limit(&mut self, max_limit: u32) -> Result<(), Error> {
        self.estimator.set_max_limit(max_limit)?;
        self.publish_config();
        Ok(())
    }

    /// Sets how long slack is observed before the limit is cut.
    pub fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        self.estimator.set_hold_time_ns(hold_time_ns);
        self.publish_config();
    }

    /// The settings in force; `limit` is the limit of now.
    pub fn config(&self) -> Config {
        self.estimator.config()
    }

    /// Everything at this moment; the producer may change its side (`num_queued`, `last_object`
    /// and what follows from them) at any time.
    pub fn snapshot(&self) -> Snapshot {
        self.estimator
            .snapshot(self.shared.producer.read(), self.adj_limit, self.epoch())
    }
}
