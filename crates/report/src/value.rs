use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Returns a parser of the values in `allowed`.
///
/// # Errors
/// The parser's: the error of the value, or a message with the allowed range.
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
