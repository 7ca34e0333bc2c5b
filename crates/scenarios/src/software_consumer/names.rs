//! Names of the parts of a row, as in a file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use taut_dql::{Config, MAX_LIMIT};
use taut_path::AnyLimit;
use taut_path::limit::{Limit, Unit, Utilisation};
use taut_sim::consumer::Notify;

/// Speed of the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Consumer {
    /// About a hundred microseconds per packet.
    Slow,
    /// About one microsecond per packet.
    Fast,
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The core of the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConsumerCore {
    /// The sender's core.
    Shared,
    /// A separate core.
    Separate,
}

impl fmt::Display for ConsumerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One consumer with one kind of notification: a row for each limit.
#[derive(Debug, Clone, Copy)]
pub struct SoftwareConsumerCase {
    pub(super) consumer: Consumer,
    pub(super) core: ConsumerCore,
    pub(super) notify: Notify,
}

/// A limit by name.
#[derive(Debug, Clone, PartialEq)]
pub enum LimitName {
    /// `fixed:99.9%`: the smallest fixed limit with this share of the throughput of the best one.
    Fixed(Utilisation),
    /// Any other limit.
    Rule {
        /// The limit.
        limit: AnyLimit,
        /// `dql:min-8`: with this minimum, in packets.
        min_packets: Option<u32>,
    },
}

impl LimitName {
    /// Returns the units of a packet of `size_bytes`.
    pub fn units(&self, size_bytes: u32) -> u32 {
        match self {
            Self::Fixed(_) => 1,
            Self::Rule { limit, .. } => match limit.unit() {
                Unit::Packets => 1,
                Unit::Bytes => size_bytes,
            },
        }
    }

    /// Returns the limit of this name; `fixed_packets` is the smallest sufficient fixed one.
    pub fn limit(&self, size_bytes: u32, fixed_packets: u32) -> AnyLimit {
        match self {
            Self::Fixed(_) => AnyLimit::bytes(fixed_packets),
            Self::Rule { limit, min_packets } => {
                let mut limit = limit.clone();
                if let Some(min_packets) = min_packets {
                    let smallest = min_packets.saturating_mul(self.units(size_bytes));
                    let min_limit = smallest.min(MAX_LIMIT);
                    // Cannot fail: the value is within the range of a limit.
                    let _ = limit.set_config(Config {
                        min_limit,
                        ..limit.config()
                    });
                }
                limit
            }
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(share) => write!(f, "fixed:{share}"),
            Self::Rule { limit, min_packets } => {
                limit.fmt(f)?;
                min_packets.map_or(Ok(()), |min| write!(f, ":min-{min}"))
            }
        }
    }
}

/// Maximum: that of a ring.
const MAX_PACKETS: u32 = 1 << 16;

impl FromStr for LimitName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(share) = text.strip_prefix("fixed:") {
            let share = share.parse().map_err(|error| format!("{error}"));
            return share.map(Self::Fixed);
        }
        let (rest, min_packets) = match text.rsplit_once(":min-") {
            Some((rest, packets)) => {
                let number = packets.parse().ok();
                let number = number.filter(|number| (1..=MAX_PACKETS).contains(number));
                let number = number.ok_or_else(|| {
                    format!("min is {packets:?}; allowed: 1 to {MAX_PACKETS}, such as dql:min-8")
                })?;
                (rest, Some(number))
            }
            None => (text, None),
        };
        let limit: AnyLimit = rest.parse().map_err(|error| format!("{error}"))?;
        if min_packets.is_some() && !["dql", "dql:packets"].contains(&rest) {
            return Err(format!(
                "{rest} has no minimum; allowed: dql, such as dql:min-8"
            ));
        }
        Ok(Self::Rule { limit, min_packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_parses_back() {
        for text in [
            "fixed:99.9%",
            "off",
            "dql",
            "dql:packets",
            "dql:packets:min-8",
            "dql:min-8",
            "taut:99.5%:packets",
            "taut:packets:2ms",
        ] {
            let name: LimitName = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(name.to_string(), text);
        }
        for text in [
            "fixed",
            "fixed:2",
            "taut:min-8",
            "dql:min-0",
            "dql:min-x",
            "x:packets",
            "taut:2ms:packets",
        ] {
            assert!(text.parse::<LimitName>().is_err(), "{text}");
        }
    }

    #[test]
    fn minimum_is_in_packets_for_any_unit() {
        let smallest = |text: &str| {
            let name: LimitName = text.parse().expect("a limit");
            let limit = name.limit(100, 0);
            taut_path::limit::Limit::config(&limit).min_limit
        };
        assert_eq!(
            [
                smallest("dql:packets:min-8"),
                smallest("dql:min-8"),
                smallest("dql")
            ],
            [8, 800, 0]
        );
    }
}
