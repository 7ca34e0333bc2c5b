//! The limit rule of a socket, and the units in flight that it limits.

use taut_dql::Error;
use taut_dql::control::Control;
use taut_dql::ledger::Ledger;
use taut_dql::sharing::Local;
use taut_path::limit::{TimeCapped, Unit};
use taut_path::rate::{RateMeter, RateSample};
use taut_path::{AnyLimit, Limit};

/// Minimum of a cap in time, in full datagrams: 5 ms at 20 Mbit/s. Below it, a thread that is
/// woken a few ms late costs more of a slow link than the delay is worth.
const MIN_CAP_DATAGRAMS: u32 = 8;
const DATAGRAM_BYTES: u32 = 1_514;

/// A ledger in the units of the rule: bytes or datagrams.
#[derive(Debug)]
pub(crate) struct Limiter {
    ledger: Ledger<Local>,
    control: Control<AnyLimit>,
    /// Measured for each rule: it also decides how many datagrams share a timestamp.
    pub(crate) rate: RateMeter,
    pub(super) unit: Unit,
    /// Units of the ledger that are reserved and not sent yet.
    pub(crate) reserved: u32,
    /// Completed units of the open batch.
    batch_units: u32,
}

impl Limiter {
    /// Creates a limiter; `cap_ns` 0: no cap in time.
    pub(super) fn new(limit: AnyLimit, cap_ns: u64, now_ns: u64) -> Self {
        let limit = capped(limit, cap_ns);
        let unit = limit.unit();
        let control = Control::new(limit, now_ns);
        Self {
            ledger: Ledger::new(control.limit()),
            control,
            rate: RateMeter::new(),
            unit,
            reserved: 0,
            batch_units: 0,
        }
    }

    /// Returns the units of an object.
    pub(crate) fn units(&self, bytes: u32, datagrams: u32) -> u32 {
        match self.unit {
            Unit::Bytes => bytes.max(1),
            Unit::Packets => datagrams,
        }
    }

    /// Returns the units left below the limit; one more object can be sent while the value is at
    /// least 0.
    pub(crate) fn room(&self) -> i64 {
        self.ledger.room().into()
    }

    /// Returns the current limit, in its units, after the cap.
    pub(crate) fn limit(&self) -> u32 {
        self.control.limit()
    }

    pub(crate) fn rule(&self) -> &AnyLimit {
        self.control.rule()
    }

    /// Returns the units that the kernel holds, without reserved ones.
    pub(crate) fn in_flight(&self) -> u32 {
        self.ledger.in_flight().saturating_sub(self.reserved)
    }

    /// Counts units of objects that are sent later.
    pub(super) fn reserve(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.ledger.record_return(now_ns);
        self.ledger.queued(units)?;
        self.reserved += units;
        Ok(())
    }

    /// Releases reserved units: directly before their objects are queued, or because they are not
    /// sent.
    pub(crate) fn release(&mut self, units: u32) {
        self.reserved -= units;
        self.ledger.subtract_queued(units);
    }

    pub(super) fn note_blocked(&mut self) {
        self.ledger.note_blocked(1);
    }

    pub(super) fn queued(&mut self, units: u32, now_ns: u64) {
        self.ledger.record_return(now_ns);
        let counted = self.ledger.queued(units);
        debug_assert!(counted.is_ok(), "{counted:?}");
    }

    /// Removes units as if they had not been queued: the rule does not learn from them.
    pub(super) fn unqueue(&mut self, units: u32) {
        self.ledger.subtract_queued(units);
    }

    /// Adds completed units to the open batch.
    pub(super) fn complete(&mut self, units: u32) {
        self.batch_units += units;
    }

    /// Counts the completed units. While `applies` is `false`, the rule does not learn from them.
    pub(super) fn end_batch(&mut self, applies: bool, now_ns: u64) {
        let units = std::mem::take(&mut self.batch_units);
        if units == 0 {
            return;
        }
        let batch = self.ledger.batch(units, false, now_ns);
        debug_assert!(batch.is_ok(), "{batch:?}");
        if let Ok(batch) = batch {
            self.rate.record(RateSample {
                now_ns,
                units,
                in_flight: batch.in_flight - units,
                object: batch.last_object,
            });
            if applies {
                self.control.completed(&self.ledger, batch, false, |_| ());
            } else {
                self.control.count_without_rule(&self.ledger, &batch);
            }
        }
    }

    /// Resets the rule; units in flight stay.
    pub(super) fn reset_rule(&mut self, now_ns: u64) {
        let counted = self.ledger.in_flight();
        self.control.reset(&self.ledger, counted, now_ns);
        self.rate.reset();
    }

    pub(super) fn reset_rate(&mut self) {
        self.control.forget_rate();
        self.rate = RateMeter::new();
    }
}

fn capped(limit: AnyLimit, cap_ns: u64) -> AnyLimit {
    if cap_ns == 0 {
        return limit;
    }
    let min = match limit.unit() {
        Unit::Bytes => MIN_CAP_DATAGRAMS * DATAGRAM_BYTES,
        Unit::Packets => MIN_CAP_DATAGRAMS,
    };
    AnyLimit::new(TimeCapped::new(limit, cap_ns).with_floor(min))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_without_limit_does_not_change_the_rule() {
        let mut limiter = Limiter::new(AnyLimit::dql(), 0, 0);
        let before = limiter.limit();
        for at_ms in 1..100 {
            limiter.queued(50_000, at_ms * 1_000_000);
            limiter.note_blocked();
            limiter.complete(50_000);
            limiter.end_batch(false, at_ms * 1_000_000 + 500_000);
        }
        assert_eq!((limiter.limit(), limiter.in_flight()), (before, 0));
        assert!(limiter.rate.min_units_per_s() > 0);
    }
}
