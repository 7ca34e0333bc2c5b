//! Values of options, read and checked.

use std::fmt::Display;
use std::ops::RangeInclusive;

use clap::builder::RangedI64ValueParser;
use taut_path::limit::ParseLimitError;
use taut_path::units::{Rate, Time};
use taut_path::{AnyLimit, qdisc, units};

/// Rates of a link.
const RATES: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(100_000_000_000);
/// Times between completions.
const CADENCES: RangeInclusive<Time> = Time(1_000)..=Time(100_000_000);
/// Durations of a run.
const DURATIONS: RangeInclusive<Time> = Time(500_000_000)..=Time(3_600_000_000_000);

pub fn count_in(allowed: RangeInclusive<u32>) -> RangedI64ValueParser<u32> {
    let (least, most) = allowed.into_inner();
    RangedI64ValueParser::new().range(i64::from(least)..=i64::from(most))
}

pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let rate = units::parse_rate_bits_per_s(text).map_err(|error| error.to_string())?;
    in_range(Rate(rate), &RATES)
}

pub fn parse_cadence(text: &str) -> Result<Time, String> {
    let cadence_ns = units::parse_time_ns(text).map_err(|error| error.to_string())?;
    in_range(Time(cadence_ns), &CADENCES)
}

pub fn parse_duration(text: &str) -> Result<Time, String> {
    let duration_ns = units::parse_time_ns(text).map_err(|error| error.to_string())?;
    in_range(Time(duration_ns), &DURATIONS)
}

pub fn parse_qdisc(text: &str) -> Result<String, String> {
    qdisc::by_name(text)
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

pub fn parse_limit(text: &str) -> Result<AnyLimit, String> {
    text.parse()
        .map_err(|error: ParseLimitError| error.to_string())
}

fn in_range<T: PartialOrd + Display>(value: T, allowed: &RangeInclusive<T>) -> Result<T, String> {
    if allowed.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (allowed.start(), allowed.end());
    Err(format!(
        "out of range at position 1; allowed: {least} to {most}"
    ))
}

#[cfg(all(test, any(feature = "lab", feature = "sim")))]
mod tests {
    use taut_scenarios::allowed;

    use super::*;

    #[test]
    fn ranges_are_those_of_the_scenarios() {
        assert_eq!(RATES, allowed::RATES);
        assert_eq!(CADENCES, allowed::CADENCES);
        assert_eq!(DURATIONS, allowed::DURATIONS);
    }
}
