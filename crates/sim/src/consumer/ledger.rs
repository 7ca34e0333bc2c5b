//! The limit with what is measured of it.

use std::collections::BTreeMap;

use taut_dql::Error;
use taut_path::AnyLimit;
use taut_path::limit::Counted;

/// A limit whose packets all count alike, and its averages over the measured time.
pub(super) struct Ledger {
    counted: Counted<AnyLimit>,
    units: u32,
    warm_ns: u64,
    in_flight_since_ns: u64,
    in_flight_ns: u128,
    limit_since_ns: u64,
    limit_held_ns: BTreeMap<u32, u64>,
}

impl Ledger {
    pub(super) fn new(limit: AnyLimit, units: u32, warm_ns: u64) -> Self {
        Self {
            counted: Counted::new(limit, 0),
            units,
            warm_ns,
            in_flight_since_ns: warm_ns,
            in_flight_ns: 0,
            limit_since_ns: warm_ns,
            limit_held_ns: BTreeMap::new(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.counted.has_room()
    }

    pub(super) fn refused(&mut self) {
        self.counted.refused();
    }

    /// Whether so many packets are more than the limit.
    pub(super) fn is_above(&self, packets: u32) -> bool {
        packets.saturating_mul(self.units) > self.counted.limit()
    }

    pub(super) fn queued(&mut self, now_ns: u64) -> Result<(), Error> {
        self.count_in_flight(now_ns);
        self.counted.queued(self.units, now_ns)
    }

    pub(super) fn told(&mut self, packets: u32, now_ns: u64) -> Result<(), Error> {
        self.count_in_flight(now_ns);
        let before = self.counted.limit();
        self.counted
            .completed(packets * self.units, false, now_ns)?;
        if self.counted.limit() != before {
            self.count_limit(before, now_ns);
        }
        Ok(())
    }

    fn count_in_flight(&mut self, now_ns: u64) {
        let held_ns = now_ns.saturating_sub(self.in_flight_since_ns);
        if held_ns > 0 {
            self.in_flight_ns += u128::from(held_ns) * u128::from(self.counted.in_flight());
            self.in_flight_since_ns = now_ns;
        }
    }

    fn count_limit(&mut self, limit: u32, now_ns: u64) {
        let held_ns = now_ns.saturating_sub(self.limit_since_ns);
        if held_ns > 0 {
            *self.limit_held_ns.entry(limit).or_default() += held_ns;
            self.limit_since_ns = now_ns;
        }
    }

    /// Mean in flight and median limit up to `end_ns`, in packets.
    pub(super) fn close(&mut self, end_ns: u64) -> (f64, f64) {
        self.count_in_flight(end_ns);
        self.count_limit(self.counted.limit(), end_ns);
        let measured_ns = end_ns.saturating_sub(self.warm_ns).max(1);
        let units = f64::from(self.units);
        let mean = self.in_flight_ns as f64 / measured_ns as f64 / units;
        let mut left_ns = measured_ns.div_ceil(2);
        let median = self.limit_held_ns.iter().find(|&(_, &held_ns)| {
            let found = held_ns >= left_ns;
            left_ns = left_ns.saturating_sub(held_ns);
            found
        });
        (
            mean,
            median.map_or(0.0, |(&limit, _)| f64::from(limit)) / units,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_limit_is_the_one_that_was_held_longest_here() {
        let mut ledger = Ledger::new(AnyLimit::dql(), 1, 0);
        let mut round = |packets: u32, at_ns: u64| {
            for _ in 0..packets {
                ledger.queued(at_ns).expect("counted");
            }
            ledger.told(packets, at_ns + 10).expect("in flight");
            ledger.counted.limit()
        };
        let (first, second) = (round(4, 90), round(40, 990));
        assert!(first < second, "{first}, {second}");
        // In packets: the limit that lasted 900 of 1,100 ns.
        assert_eq!(ledger.close(1_100).1, f64::from(first));
    }
}
