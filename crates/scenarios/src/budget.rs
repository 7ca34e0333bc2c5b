//! Syntax of a budget for the data below a stream's socket.

use std::fmt;
use std::str::FromStr;

use taut_path::tsq::{RATE_TIME_NS, Settings as SmallQueueSettings, Sizing};
use taut_path::units;

/// Maximum of a rate-based budget: the current `tcp_limit_output_bytes`.
const RATE_LIMIT_BYTES: u32 = 1 << 20;

/// Budget for the data below a stream's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// No budget: `none`.
    None,
    /// The rate-based budget: `rate`.
    Rate,
    /// A number of bytes of memory: a size.
    Bytes(u32),
}

impl Budget {
    /// Returns the global setting of the budget.
    pub(crate) const fn settings(self) -> SmallQueueSettings {
        match self {
            Self::None => SmallQueueSettings::OFF,
            Self::Rate => SmallQueueSettings {
                sizing: Sizing::Rate {
                    time_ns: RATE_TIME_NS,
                },
                limit_bytes: RATE_LIMIT_BYTES,
            },
            Self::Bytes(limit_bytes) => SmallQueueSettings {
                sizing: Sizing::Fixed,
                limit_bytes,
            },
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Rate => f.write_str("rate"),
            Self::Bytes(bytes) if bytes.is_multiple_of(1024) && *bytes > 0 => {
                write!(f, "{}k", bytes / 1024)
            }
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => return Ok(Self::None),
            "rate" => return Ok(Self::Rate),
            _ => {}
        }
        let bytes = units::parse_size_bytes(text)
            .map_err(|error| format!("{error}; also allowed: none, rate"))?;
        let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes < u32::MAX);
        bytes
            .map(Self::Bytes)
            .ok_or_else(|| format!("{text} is too large; allowed: at most 4294967294 bytes"))
    }
}
