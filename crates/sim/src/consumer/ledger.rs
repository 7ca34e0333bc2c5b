//! The limit and its measurements.

use taut_dql::Error;
use taut_path::AnyLimit;
use taut_path::limit::StandaloneLimit;

use crate::convergence::median;
use crate::time_series::note_change;
use taut_measure::meter::{Level, Since};

/// A limit whose packets all have the same size, and its averages over the measured time.
pub(super) struct ConsumerLedger {
    pub(super) counted: StandaloneLimit<AnyLimit>,
    units: u32,
    warm_ns: u64,
    in_flight: Level,
    /// Changes of the limit: (ns, value).
    limits: Vec<(u64, u32)>,
}

impl ConsumerLedger {
    pub(super) fn new(limit: AnyLimit, units: u32, warm_ns: u64) -> Self {
        let counted = StandaloneLimit::new(limit, 0);
        Self {
            limits: vec![(0, counted.limit())],
            counted,
            units,
            warm_ns,
            in_flight: Level::new(0, &Since(warm_ns)),
        }
    }

    /// Returns `true` if this many packets exceed the limit.
    pub(super) fn is_above(&self, packets: u32) -> bool {
        packets.saturating_mul(self.units) > self.counted.limit()
    }

    pub(super) fn queued(&mut self, now_ns: u64) -> Result<(), Error> {
        self.counted.queued(self.units, now_ns)?;
        self.count(now_ns);
        Ok(())
    }

    pub(super) fn completed(&mut self, packets: u32, now_ns: u64) -> Result<(), Error> {
        self.counted
            .completed(packets * self.units, false, now_ns)?;
        self.count(now_ns);
        note_change(&mut self.limits, now_ns, self.counted.limit());
        Ok(())
    }

    fn count(&mut self, now_ns: u64) {
        let in_flight = self.counted.in_flight().into();
        self.in_flight
            .change(in_flight, now_ns, &Since(self.warm_ns));
    }

    /// Returns mean in flight and median limit up to `end_ns`, in packets.
    pub(super) fn close(&mut self, end_ns: u64) -> (f64, f64) {
        self.count(end_ns);
        let measured_ns = end_ns.saturating_sub(self.warm_ns).max(1);
        let units = f64::from(self.units);
        let mean = self.in_flight.sum() as f64 / measured_ns as f64 / units;
        let median = median(&self.limits, self.warm_ns, end_ns.max(self.warm_ns));
        (mean, f64::from(median) / units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the limit after each of two batches, at 100 and at 1,000 ns, and the median up to
    /// 1,100 ns.
    fn limits_and_median(warm_ns: u64) -> ([f64; 2], f64) {
        let mut ledger = ConsumerLedger::new(AnyLimit::dql(), 1, warm_ns);
        let mut batch = |packets: u32, at_ns: u64| {
            for _ in 0..packets {
                ledger.queued(at_ns).expect("counted");
            }
            ledger.completed(packets, at_ns + 10).expect("in flight");
            f64::from(ledger.counted.limit())
        };
        let limits = [batch(4, 90), batch(40, 990)];
        (limits, ledger.close(1_100).1)
    }

    #[test]
    fn limit_median_is_weighted_by_time() {
        let ([first, second], median) = limits_and_median(0);
        assert!(first < second, "{first}, {second}");
        // In packets: the limit lasted 900 of 1,100 ns.
        assert_eq!(median, first);
        // Warm-up does not count: 50 of 150 ns.
        assert_eq!(limits_and_median(950).1, second);
    }
}
