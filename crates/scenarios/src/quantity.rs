//! Rates, times and sizes in scenario files: text as `tc` reads it, and back.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_path::units;

/// A quantity that is written as text with a unit.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $parse:path, $suffixes:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_exact(self.0, &$suffixes, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Text::deserialize(deserializer)?;
                $parse(&text.0).map(Self).map_err(de::Error::custom)
            }
        }
    };
}

quantity!(
    /// A rate in bit/s: `"1gbit"`.
    Rate,
    units::parse_rate_bits_per_s,
    [
        ("gbit", 1_000_000_000),
        ("mbit", 1_000_000),
        ("kbit", 1_000),
        ("bit", 1)
    ]
);
quantity!(
    /// A time in ns: `"50us"`.
    Time,
    units::parse_time_ns,
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)]
);
quantity!(
    /// A size in bytes: `"1514"`, `"64k"`.
    Size,
    units::parse_size_bytes,
    [("b", 1)]
);

impl Time {
    /// So many milliseconds.
    pub const fn ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// So many microseconds.
    pub const fn us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }
}

/// Writes a value in the largest unit in which it is whole.
fn write_exact(value: u64, suffixes: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let whole = |&&(_, worth): &&(&str, u64)| value.is_multiple_of(worth) && value >= worth;
    match suffixes.iter().find(whole).or(suffixes.last()) {
        Some((suffix, worth)) => write!(f, "{}{suffix}", value / worth),
        None => write!(f, "{value}"),
    }
}

/// A string; a bare number is refused, so that every value says its unit.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text with a unit, such as \"1gbit\", \"50us\" or \"1514\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// For `#[serde(with)]`: a value that is written as the text it is read from.
pub mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    /// As its text.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// From its text.
    ///
    /// # Errors
    /// If it is no text, or not understood.
    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for ns in [0, 1, 999, 1_000, 1_500_000, 3_600_000_000_000, u64::MAX] {
            let text = Time(ns).to_string();
            assert_eq!(units::parse_time_ns(&text), Ok(ns), "{text}");
        }
        for bits in [1, 10_000_000, 1_000_000_000, u64::MAX] {
            let text = Rate(bits).to_string();
            assert_eq!(units::parse_rate_bits_per_s(&text), Ok(bits), "{text}");
        }
        assert_eq!(Time::us(50).to_string(), "50us");
        assert_eq!(Rate(1_000_000_000).to_string(), "1gbit");
    }
}

/// A list of values that are written and read as their texts: `#[serde(with = "as_texts")]`.
pub mod as_texts {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    /// As their texts.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Display, S: Serializer>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(T::to_string))
    }

    /// From their texts.
    ///
    /// # Errors
    /// If one is no text, or not understood: then its position is said too, from 1.
    pub fn deserialize<'de, T, D>(from: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(from)?;
        let values = texts.iter().enumerate().map(|(at, text)| {
            let value = text.parse();
            value.map_err(|error: T::Err| {
                de::Error::custom(format!("{text:?}, number {}: {error}", at + 1))
            })
        });
        values.collect()
    }
}
