use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::RangedI64ValueParser;
use taut_path::limit::ParseLimitError;
use taut_path::{AnyLimit, qdisc};

/// Returns a parser of the values in `allowed`.
///
/// # Errors
/// Returns the error of `T::from_str`, or the allowed range.
pub fn within<T>(allowed: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr<Err: Display> + PartialOrd + Display + Clone,
{
    move |text| {
        let value: T = text.parse().map_err(|error: T::Err| error.to_string())?;
        if allowed.contains(&value) {
            return Ok(value);
        }
        let (min, max) = (allowed.start(), allowed.end());
        Err(format!("out of range; allowed: {min} to {max}"))
    }
}

/// Returns a parser of a count, for clap: its help and its errors contain the range.
pub fn count_in(allowed: RangeInclusive<u32>) -> RangedI64ValueParser<u32> {
    let (min, max) = allowed.into_inner();
    RangedI64ValueParser::new().range(i64::from(min)..=i64::from(max))
}

/// Checks the name and the parameters of a discipline.
///
/// # Errors
/// What is wrong, and the allowed disciplines.
pub fn parse_qdisc(text: &str) -> Result<String, String> {
    qdisc::by_name(text)
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

/// Parses a limit.
///
/// # Errors
/// What is wrong, and the allowed limits.
pub fn parse_limit(text: &str) -> Result<AnyLimit, String> {
    text.parse()
        .map_err(|error: ParseLimitError| error.to_string())
}
