//! The half of a queue that completes.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;

use super::sender::Sender;
use super::shared::Shared;
use crate::limit::Limit;
use crate::side::CompletingSide;
use crate::{Config, Error, Snapshot};

/// The half of the thread that reaps completions. Only this half moves the limit. It can move to
/// another thread, but two threads cannot use it at the same time:
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
    pub(super) shared: S,
    pub(super) side: CompletingSide,
    pub(super) not_sync: PhantomData<Cell<()>>,
}

impl<S: Deref<Target = Shared>> Completer<S> {
    /// Counts the units that the device completed since the last call, and updates the limit. Call
    /// it once for each completion batch.
    ///
    /// **Do not call it if nothing completed**: a batch of 0 units is a sample of an interval in
    /// which nothing was needed. See [the crate](crate#which-method-when) on pollers.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.side.completed(&self.shared.ledger, units, now_ns)
    }

    /// Counts completions of a device that reports a level: the units that are still outstanding.
    /// Returns the number of units completed. A level at which nothing completed is not a sample
    /// and changes nothing, so this can be called at any rate.
    ///
    /// Do not read the level between [`queued`](crate::Sender::queued) and the moment when the
    /// device has the object: use one lock around both, or one thread (a [`Dql`](crate::Dql)). An
    /// object that is queued and missing in the level counts as completed. If no send fails, the
    /// ledger recovers: later levels exceed it and are rejected until the device has completed that
    /// object. But if the object is removed after it counted as completed, the ledger can fall
    /// below 0. Every completion then returns [`Error::OverCompletion`] until a
    /// [`repair`](Self::repair).
    ///
    /// # Errors
    /// [`Error::ObservedAboveInFlight`] for more than is in flight.
    pub fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        let done = self.shared.ledger.completed_by_level(units)?;
        if done > 0 {
            self.completed(done, now_ns)?;
        }
        Ok(done)
    }

    /// Corrects the ledger to the units that the device really holds, after completions were lost
    /// or counted twice, without a flush. The limit and the epoch stay. A new interval and a new
    /// hold time begin. An excess counts as completed, missing units count as queued now. Both
    /// halves are borrowed, so nothing is queued or completed at the same time. Returns the excess,
    /// which is negative if units were missing.
    ///
    /// # Errors
    /// [`Error::RepairTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT);
    /// [`Error::DifferentQueues`] for the sender of another queue. Neither changes anything.
    pub fn repair(
        &mut self,
        sender: &mut Sender<S>,
        in_flight: u32,
        now_ns: u64,
    ) -> Result<i64, Error> {
        self.check_same_queue(sender)?;
        self.side.repair(&self.shared.ledger, in_flight, now_ns)
    }

    /// Forgets the units in flight, restarts from the lower bound of the limit and increments the
    /// epoch (wrapping). The settings stay. Call it after the device was flushed. Both halves are
    /// borrowed, so nothing is queued or completed at the same time. A third thread can read a mix
    /// of the states before and after.
    ///
    /// # Errors
    /// [`Error::DifferentQueues`] for the sender of another queue; neither is changed.
    pub fn reset(&mut self, sender: &mut Sender<S>, now_ns: u64) -> Result<(), Error> {
        self.check_same_queue(sender)?;
        self.side.reset(&self.shared.ledger, now_ns);
        Ok(())
    }

    fn check_same_queue(&self, sender: &Sender<S>) -> Result<(), Error> {
        if core::ptr::eq::<Shared>(&*sender.shared, &*self.shared) {
            Ok(())
        } else {
            Err(Error::DifferentQueues)
        }
    }

    /// Returns the units left below the limit. Rereads the sender's total, which can lower the
    /// result at any time. Use it to decide whether to restart a stopped sender.
    #[must_use]
    #[inline]
    pub fn room(&self) -> i32 {
        self.shared.ledger.room()
    }

    /// Returns `true` if one more object may be queued, with the sender's total read again.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room() >= 0
    }

    /// Returns the units queued and not yet completed, below 2^31. The sender can raise it at any
    /// time.
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.shared.ledger.in_flight()
    }

    /// Returns the limit, in units. An explicitly set limit is returned immediately and takes
    /// effect at the next completion.
    #[must_use]
    #[inline]
    pub fn limit(&self) -> u32 {
        self.side.rule.limit()
    }

    /// Changes all settings. The sender sees a limit at the next completion, which also clamps it
    /// to its bounds.
    ///
    /// # Errors
    /// Those of [`Config::validate`]; nothing changes.
    pub fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.side.rule.set_config(config)
    }

    /// Returns the current settings; `limit` is the current limit.
    #[must_use]
    pub fn config(&self) -> Config {
        self.side.rule.config()
    }

    /// Returns the current state. The sender can change its side (`num_queued`, `last_object` and
    /// the fields derived from them) at any time.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.side.snapshot(&self.shared.ledger)
    }
}
