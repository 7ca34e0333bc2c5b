//! Rates, sizes and times in the notation of `tc`.
//!
//! A bare rate is in bit/s, `k` in a size is 1024, suffixes ignore case, and decimals are exact.
//! `ns`, `KiB`, `MiB` and `GiB` are accepted too. A bare time is rejected, because `tc` reads it as
//! microseconds, which few users expect.
//!
//! ```
//! use taut_path::units::{Rate, Time};
//!
//! assert_eq!("1.5gbit".parse(), Ok(Rate(1_500_000_000)));
//! assert_eq!(Time(50_000).to_string(), "50us");
//! ```

mod parse;
#[cfg(feature = "serde")]
mod serde;

use core::fmt;
use core::str::FromStr;

pub(crate) use parse::parse_ppm;
pub use parse::{ParseUnitError, parse_rate_bits_per_s, parse_size_bytes, parse_time_ns};

/// Defines a quantity that is written as text with a unit.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $parse:path, $suffixes:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub u64);

        impl FromStr for $name {
            type Err = ParseUnitError;

            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                $parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_exact(f, self.0, &$suffixes)
            }
        }
    };
}

quantity!(
    /// A rate in bit/s: `1gbit`.
    Rate,
    parse_rate_bits_per_s,
    [
        ("gbit", 1_000_000_000),
        ("mbit", 1_000_000),
        ("kbit", 1_000),
        ("bit", 1)
    ]
);
quantity!(
    /// A time in ns: `50us`.
    Time,
    parse_time_ns,
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]
);
quantity!(
    /// A size in bytes: `1514`, `64k`. It is written in bytes: `1514b`.
    Size,
    parse_size_bytes,
    [("b", 1)]
);

impl Time {
    /// Returns a time of `ms` milliseconds.
    pub const fn ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Returns a time of `us` microseconds.
    pub const fn us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }
}

/// Writes `value` in the largest unit in which it is whole. The last unit is 1.
pub(crate) fn write_exact(
    f: &mut impl fmt::Write,
    value: u64,
    suffixes: &[(&str, u64)],
) -> fmt::Result {
    let whole = |&&(_, worth): &&(&str, u64)| value.is_multiple_of(worth) && value >= worth;
    match suffixes.iter().find(whole).or(suffixes.last()) {
        Some((suffix, worth)) => write!(f, "{}{suffix}", value / worth),
        None => write!(f, "{value}"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn written_quantities_parse_to_the_same_value() {
        for ns in [0, 1, 999, 1_000, 1_500_000, 3_600_000_000_000, u64::MAX] {
            assert_eq!(Time(ns).to_string().parse(), Ok(Time(ns)));
        }
        for bits in [0, 1, 10_000_000, 1_000_000_000, u64::MAX] {
            assert_eq!(Rate(bits).to_string().parse(), Ok(Rate(bits)));
        }
        for bytes in [0, 1514, 65_536, u64::MAX] {
            assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
        }
        assert_eq!(Time::us(50).to_string(), "50us");
        assert_eq!(Rate(1_000_000_000).to_string(), "1gbit");
        assert_eq!(Size(65_536).to_string(), "65536b");
    }
}
