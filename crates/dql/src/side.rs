//! The completing side of a limit, for one thread or two: Linux's rule over a ledger.

use crate::ledger::Ledger;
use crate::limit::Limit;
use crate::sharing::Sharing;
use crate::{Config, Dynamic, Error, MAX_IN_FLIGHT, Snapshot, counter};

/// The rule, and the state that a reset changes.
#[derive(Clone, Debug)]
pub(crate) struct CompletingSide {
    pub rule: Dynamic,
    /// Totals of the ledger at the last reset: users see the totals above it.
    pub base: u32,
    /// Resets so far, wrapping.
    pub epoch: u32,
}

impl CompletingSide {
    /// From a configuration that was validated.
    pub(crate) const fn from_valid(config: Config, now_ns: u64) -> Self {
        CompletingSide {
            rule: Dynamic::from_valid(config, now_ns),
            base: 0,
            epoch: 0,
        }
    }

    #[inline]
    pub(crate) fn completed<M: Sharing>(
        &mut self,
        ledger: &Ledger<M>,
        units: u32,
        now_ns: u64,
    ) -> Result<(), Error> {
        let batch = ledger.batch(units, false, now_ns)?;
        ledger.completed(units, self.rule.sample(&batch));
        Ok(())
    }

    pub(crate) fn repair<M: Sharing>(
        &mut self,
        ledger: &Ledger<M>,
        in_flight: u32,
        now_ns: u64,
    ) -> Result<i64, Error> {
        if in_flight > MAX_IN_FLIGHT {
            return Err(Error::RepairTooLarge { in_flight });
        }
        self.rule.repair(in_flight, now_ns);
        ledger.set_last_object(0);
        Ok(ledger.set_in_flight(in_flight, self.rule.limit()))
    }

    pub(crate) fn reset<M: Sharing>(&mut self, ledger: &Ledger<M>, now_ns: u64) {
        self.rule.reset(now_ns);
        ledger.set_last_object(0);
        ledger.set_in_flight(0, self.rule.limit());
        self.base = ledger.num_completed();
        self.epoch = self.epoch.wrapping_add(1);
    }

    pub(crate) fn snapshot<M: Sharing>(&self, ledger: &Ledger<M>) -> Snapshot {
        let (rule, config) = (&self.rule, self.rule.config());
        let since_reset = |total: u32| total.wrapping_sub(self.base);
        let num_completed = since_reset(ledger.num_completed());
        let num_queued = since_reset(ledger.num_queued());
        let adj_limit = since_reset(ledger.allowed());
        Snapshot {
            limit: config.limit,
            adj_limit,
            num_queued,
            num_completed,
            room: adj_limit.wrapping_sub(num_queued) as i32,
            window_start_ns: rule.window_start_ns,
            lowest_slack: rule.lowest_slack,
            prev_over_limit: rule.prev_over_limit,
            prev_num_queued: num_completed.wrapping_add(rule.prev_left),
            prev_last_object: rule.prev_last_object,
            last_object: ledger.last_object(),
            min_limit: config.min_limit,
            max_limit: config.max_limit,
            hold_time_ns: config.hold_time_ns,
            epoch: self.epoch,
            in_flight: counter::positive_difference(num_queued, num_completed),
        }
    }
}
