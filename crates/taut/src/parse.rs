//! Parsers of option values.

use std::ops::RangeInclusive;

use taut_path::units::{Rate, Time};
pub use taut_report::value::{count_in, parse_limit, parse_qdisc, within};

/// Rates of a link in an experiment.
pub const RATES: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(100_000_000_000);
/// Rates of any link.
pub const LINK_RATES: RangeInclusive<Rate> = Rate(1_000)..=Rate(1_000_000_000_000);
/// Completion intervals.
pub const COALESCE_TIMES: RangeInclusive<Time> = Time(1_000)..=Time(100_000_000);
/// Durations of a run.
pub const DURATIONS: RangeInclusive<Time> = Time(500_000_000)..=Time(3_600_000_000_000);
/// Intervals between two readings of a queue.
pub const PERIODS: RangeInclusive<Time> = Time::ms(1)..=Time::ms(86_400_000);

#[cfg(all(test, any(feature = "lab", feature = "sim")))]
mod tests {
    use taut_scenarios::validation;

    use super::*;

    #[test]
    fn ranges_are_those_of_the_scenarios() {
        assert_eq!(RATES, validation::RATES);
        assert_eq!(COALESCE_TIMES, validation::COALESCE_TIMES);
        assert_eq!(DURATIONS, validation::DURATIONS);
    }
}
