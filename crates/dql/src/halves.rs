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

/// Brings the ledger to what the device really holds, after completions were lost or counted twice,
/// without flushing it. The limit and the epoch stay; a new interval and a new window of slack begin;
/// what is too much counts as completed, what was missing counts as queued now.
/// Whoever has both halves knows that nobody queues or completes meanwhile.
/// Returns by how much the ledger said too much; below 0 when it said too little.
///
/// # Errors
/// [`Error::InFlightTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT);
/// [`Error::NotTheSameQueue`] for halves of two queues. Either changes nothing.
pub fn repair<S>(
    producer: &mut Producer<S>,
    completer: &mut Completer<S>,
    in_flight: u32,
    now_ns: u64,
) -> Result<i64, Error>
where
    S: Deref<Target = Shared>,
{
    if !core::ptr::eq::<Shared>(&*producer.shared, &*completer.shared) {
        return Err(Error::NotTheSameQueue);
    }
    let known = producer.unsigned_in_flight() as i32;
    let (missing, too_much) = counter::check_repair(known, in_flight)?;
    producer.num_queued = producer.num_queued.wrapping_add(missing);
    producer.publish_last(0);
    let queued = completer.shared.producer.read();
    completer.adj_limit = completer.estimator.repair(queued, in_flight, now_ns);
    completer.publish();
    Ok(too_much)
}

impl<S: Deref<Target = Shared>> Producer<S> {
    /// Counts one object as handed to the device. Call it before the device can see the object,
    /// or its completion may be counted first and refused.
    ///
    /// Nothing is refused for being over the limit: ask [`has_room`](Producer::has_room) after
    /// each object and stop when it says no. An object of 0 units is counted and takes no room, so a
    /// loop that queues nothing else while there is room never ends.
    ///
    /// # Errors
    /// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`](crate::MAX_OBJECT), and
    /// [`Error::TooMuchInFlight`] when 2^31 units or more would be in flight, as far as this
    /// thread can see: a completion of this very moment may not count yet.
    #[inline]
    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        counter::check_object(self.unsigned_in_flight(), units)?;
        self.num_queued = self.num_queued.wrapping_add(units);
        self.publish_last(units);
        Ok(())
    }

    /// Takes back the object queued last, because it could not be handed to the device after all: a
    /// send that failed. As if it had never been queued, except that the size of the object before
    /// it is not known any more. The room is back at once: a sender that was stopped for this object
    /// must look again, since no completion will tell it.
    ///
    /// This is safe beside a completer because the device never saw the object: whatever is
    /// completed meanwhile is of older objects, so what is in flight without it is never below 0. A
    /// completer that already read the larger total has decided one interval with this object in
    /// it: at its next completion the limit may grow by that much less. The totals themselves are
    /// right at once.
    ///
    /// **Not safe beside [`Completer::observe_in_flight`]**, which takes an object that is queued and
    /// not in the device for a finished one; see there.
    ///
    /// # Errors
    /// [`Error::NotQueuedLast`] when `units` is not the size of the object queued last, and the
    /// second time for one object; [`Error::AlreadyCompleted`] when it was reported completed, as far
    /// as this thread can see.
    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        let last_object = self.shared.producer.read().last_object;
        counter::check_unqueue(self.in_flight(), last_object, units)?;
        self.num_queued = self.num_queued.wrapping_sub(units);
        self.publish_last(0);
        Ok(())
    }

    #[inline]
    fn publish_last(&self, last_object: u32) {
        self.shared.producer.publish(Queued {
            num_queued: self.num_queued,
            last_object,
        });
    }

    /// Units left below the limit; one more object may be queued while it is `>= 0`. The completer
    /// may raise or lower it at any time. See [the crate](crate#two-threads) on stopping a sender.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        counter::room(
            self.shared.completer.adj_limit.load(Ordering::Relaxed),
            self.num_queued,
        )
    }

    /// Whether one more object may be queued.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Units queued and not yet completed, below 2^31; the completer may lower it at any time.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        counter::positive_difference(self.unsigned_in_flight(), 0)
    }

    /// Below 0 (so above the largest amount) while more is completed than was queued.
    #[inline]
    fn unsigned_in_flight(&self) -> u32 {
        self.num_queued
            .wrapping_sub(self.shared.completer.num_completed.load(Ordering::Relaxed))
    }

    /// Total units queued since the last reset, wrapping.
    #[inline]
    pub fn num_queued(&self) -> u32 {
        self.num_queued
    }

    /// How many resets there have been, wrapping; only [`reset`](crate::reset()) changes it.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.shared.completer.epoch.load(Ordering::Relaxed)
    }
}

impl<S: Deref<Target = Shared>> Completer<S> {
    /// Counts what the device finished since the last call, and moves the limit. Call it once for
    /// each round in which something completed.
    ///
    /// **Do not call it when nothing completed**: 0 units is a round too, and counts as a sample of
    /// an interval in which nothing was needed. A poller that does so every 10 us halves its limit.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completed_of(self.shared.producer.read(), units, now_ns)
    }

    #[inline]
    fn completed_of(&mut self, queued: Queued, units: u32, now_ns: u64) -> Result<(), Error> {
        self.adj_limit = self.estimator.completed(queued, units, now_ns)?;
        self.publish();
        Ok(())
    }

    /// Counts what the device finished when it says how much is still outstanding: a level, and not
    /// what was completed since. Returns how many units completed by it. A level at which nothing
    /// completed is no sample and changes nothing, so this may be called as often as one likes.
    ///
    /// Take the level while the producer is not between [`queued`](Producer::queued) and the device
    /// having the object, or after the producer said that it has: with one lock around both, or on
    /// one thread (a [`Dql`](crate::Dql)). An object that is queued and not in the level counts as
    /// finished. Without failed sends that mends itself, since the next levels count it again: they
    /// are refused until they have come down to what the ledger says. But an object that counts as
    /// finished and is then taken back may bring the ledger below 0. That is refused by every
    /// completion as [`Error::OverCompletion`] until a [`repair`](crate::repair).
    ///
    /// # Errors
    /// [`Error::ObservedTooMuch`] for more than is in flight.
    pub fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        let queued = self.shared.producer.read();
        let in_flight = counter::positive_difference(queued.num_queued, self.num_completed());
        let done = counter::check_observed(in_flight, units)?;
        if done > 0 {
            self.completed_of(queued, done, now_ns)?;
        }
        Ok(done)
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
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        counter::room(self.adj_limit, self.num_queued())
    }

    /// Whether one more object may be queued, with the producer's total read again.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Units queued and not yet completed, below 2^31; the producer may raise it at any time.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        counter::positive_difference(self.num_queued(), self.estimator.num_completed)
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
    #[must_use]
    #[inline]
    pub fn limit(&self) -> u32 {
        self.estimator.limit
    }

    /// How many resets there have been, wrapping; only [`reset`](crate::reset()) changes it.
    #[must_use]
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
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.estimator
            .snapshot(self.shared.producer.read(), self.adj_limit, self.epoch())
    }
}
