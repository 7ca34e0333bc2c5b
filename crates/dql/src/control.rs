//! Connects a limit rule to the completer's side of a ledger.

use crate::ledger::Ledger;
use crate::limit::{CompletionBatch, Limit};
use crate::rate::{RateMeter, RateSample};
use crate::sharing::Sharing;
use crate::{Config, Error, MAX_LIMIT};

/// Connects a rule to the completer's side of a ledger: passes it each batch, and publishes the
/// room below its limit. It also measures the rate of the device and can disable the limit.
///
/// taut-path uses it for every limit. [`Dql`](crate::Dql) and [`Completer`](crate::Completer) have
/// a shorter path for [`Dynamic`](crate::Dynamic).
#[derive(Clone, Debug)]
pub struct Control<L: ?Sized> {
    rate: Option<RateMeter>,
    /// Totals of the ledger at the last reset.
    base: u32,
    blocked_base: u32,
    /// The last batch had more completions pending.
    more_pending: bool,
    /// Completions do not mean that the device is done with an object, so the limit is not applied.
    disabled: bool,
    /// The last field, so that it can be a `dyn Limit`.
    rule: L,
}

impl<L: Limit> Control<L> {
    /// Starts `rule` at `now_ns`, for a new ledger. The rate is measured if the rule needs it.
    pub fn new(mut rule: L, now_ns: u64) -> Self {
        rule.begin(now_ns);
        Self {
            rate: rule.needs().rate.then(RateMeter::new),
            base: 0,
            blocked_base: 0,
            more_pending: false,
            disabled: false,
            rule,
        }
    }
}

impl<L: Limit + ?Sized> Control<L> {
    /// The limit that the ledger applies, in units.
    #[inline]
    pub fn limit(&self) -> u32 {
        if self.disabled {
            MAX_LIMIT
        } else {
            self.rule.limit().min(MAX_LIMIT)
        }
    }

    /// Returns `true` if a batch of `units` must be passed to [`completed`](Self::completed). A
    /// batch of 0 units is passed only if the previous one had more completions pending.
    #[inline]
    pub fn must_pass(&self, units: u32) -> bool {
        units > 0 || self.more_pending
    }

    /// Counts the units of a batch, updates the limit and publishes the room. `batch` must come
    /// from [`Ledger::batch`] of `ledger`, called since its last completion. Passes the batch to
    /// `on_batch`. If `is_observed` is set, its sender fields are filled even if the rule does not
    /// need them. Returns the limit of the rule.
    #[inline]
    pub fn completed<M: Sharing>(
        &mut self,
        ledger: &Ledger<M>,
        mut batch: CompletionBatch,
        is_observed: bool,
        on_batch: impl FnOnce(&CompletionBatch),
    ) -> u32 {
        let needs = self.rule.needs();
        if needs.sender || is_observed {
            // The other half might have read its clock later than this one.
            let returned_ns = ledger.sender_returned_ns();
            batch.sender_returned_ns = returned_ns.map(|at_ns| at_ns.min(batch.now_ns));
            batch.times_blocked = ledger.times_blocked().wrapping_sub(self.blocked_base);
        }
        if needs.rate
            && let Some(rate) = &mut self.rate
        {
            batch.rate_per_s = measure(rate, &batch);
        }
        on_batch(&batch);
        let limit = self.rule.completed(&batch).min(MAX_LIMIT);
        debug_assert_eq!(limit, self.rule.limit().min(MAX_LIMIT), "the same limit");
        if needs.sender && self.rule.needs().return_time {
            ledger.request_return_time();
        }
        let applied = if self.disabled { MAX_LIMIT } else { limit };
        ledger.completed(batch.units, applied);
        self.more_pending = batch.more_pending;
        limit
    }

    /// Counts the units of a batch without passing it to the rule. `batch` must come from
    /// [`Ledger::batch`] of `ledger`, called since its last completion.
    pub fn count_without_rule<M: Sharing>(&mut self, ledger: &Ledger<M>, batch: &CompletionBatch) {
        if let Some(rate) = &mut self.rate {
            measure(rate, batch);
        }
        ledger.completed(batch.units, self.limit());
    }

    /// Units completed since the last reset, wrapping.
    pub fn num_completed<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        ledger.num_completed().wrapping_sub(self.base)
    }

    /// Units queued since the last reset, wrapping.
    pub fn num_queued<M: Sharing>(&self, ledger: &Ledger<M>) -> u32 {
        ledger.num_queued().wrapping_sub(self.base)
    }

    /// Resets the rule, and corrects the ledger to `in_flight` units, at most
    /// [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT) and 0 after the device was flushed. Nothing must be
    /// queued at the same time.
    pub fn reset<M: Sharing>(&mut self, ledger: &Ledger<M>, in_flight: u32, now_ns: u64) {
        self.rule.reset(now_ns);
        self.restart(ledger, in_flight);
    }

    /// Corrects the ledger to `in_flight` units, at most [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT),
    /// and begins a new interval. The limit stays. Nothing must be queued at the same time.
    pub fn repair<M: Sharing>(&mut self, ledger: &Ledger<M>, in_flight: u32, now_ns: u64) {
        self.rule.repair(in_flight, now_ns);
        self.restart(ledger, in_flight);
    }

    fn restart<M: Sharing>(&mut self, ledger: &Ledger<M>, in_flight: u32) {
        if let Some(rate) = &mut self.rate {
            rate.reset();
        }
        self.more_pending = false;
        ledger.request_return_time();
        ledger.set_in_flight(in_flight, self.limit());
        self.blocked_base = ledger.times_blocked();
        self.base = ledger.num_completed();
    }

    /// Disables the limit, or applies it again. The rule continues to receive batches.
    pub fn set_disabled<M: Sharing>(&mut self, ledger: &Ledger<M>, disabled: bool) {
        self.disabled = disabled;
        self.publish(ledger);
    }

    /// Returns `true` if the limit is disabled.
    #[inline]
    pub fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// Publishes the room below the current limit before the next completion does.
    pub fn publish<M: Sharing>(&self, ledger: &Ledger<M>) {
        ledger.completed(0, self.limit());
    }

    /// The rule.
    #[inline]
    pub fn rule(&self) -> &L {
        &self.rule
    }

    /// The rate meter, if the rate is measured.
    pub fn rate(&self) -> Option<&RateMeter> {
        self.rate.as_ref()
    }

    /// Forgets the rate of the device, because another device follows.
    pub fn forget_rate(&mut self) {
        self.rate = self.rate.is_some().then(RateMeter::new);
    }

    /// Changes the settings of the rule. A limit takes effect at the next completion.
    ///
    /// # Errors
    /// Those of [`Limit::set_config`]; nothing changes.
    pub fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.rule.set_config(config)
    }
}

/// Records the batch. Returns the rate.
fn measure(rate: &mut RateMeter, batch: &CompletionBatch) -> u64 {
    rate.record(RateSample {
        now_ns: batch.now_ns,
        units: batch.units,
        in_flight: batch.in_flight - batch.units,
        object: batch.last_object,
    });
    rate.units_per_s()
}
