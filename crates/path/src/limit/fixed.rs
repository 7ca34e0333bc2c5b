//! Fixed limits: none, a number of bytes, a number of packets.

use core::fmt;

use taut_dql::{Config, Error, MAX_LIMIT};

use super::named::{BuiltinLimit, LimitInfo};
use super::{CompletionBatch, Limit, Unit};
use crate::units::write_exact;

/// The units of a written size; parsing returns the same size.
const SIZES: [(&str, u64); 4] = [("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10), ("", 1)];

/// A limit that only [`set_config`](Limit::set_config) changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    unit: Unit,
    units: u32,
}

impl Fixed {
    /// No limit except the ring. Units are bytes.
    pub const fn off() -> Self {
        Self::bytes(MAX_LIMIT)
    }

    /// At most `limit_bytes` in flight, exceeded by at most one packet. More than [`MAX_LIMIT`] is
    /// [`off`](Self::off).
    pub const fn bytes(limit_bytes: u32) -> Self {
        Self {
            unit: Unit::Bytes,
            units: min(limit_bytes, MAX_LIMIT),
        }
    }

    /// At most `depth_packets` packets in flight, clamped to 1 to [`MAX_LIMIT`]. This limit is
    /// hard: no packet exceeds it.
    pub const fn packets(depth_packets: u32) -> Self {
        let depth_packets = if depth_packets == 0 { 1 } else { depth_packets };
        Self {
            unit: Unit::Packets,
            units: min(depth_packets, MAX_LIMIT),
        }
    }

    /// Returns `true` for no limit.
    pub const fn is_off(&self) -> bool {
        matches!(self.unit, Unit::Bytes) && self.units == MAX_LIMIT
    }
}

impl Default for Fixed {
    fn default() -> Self {
        Self::off()
    }
}

const fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

impl Limit for Fixed {
    fn unit(&self) -> Unit {
        self.unit
    }

    #[inline]
    fn limit(&self) -> u32 {
        match self.unit {
            Unit::Bytes => self.units,
            // A limit of n admits n + 1 objects: the test is "room is not negative". A depth counts
            // whole packets, so it can be exact.
            Unit::Packets => self.units - 1,
        }
    }

    #[inline]
    fn completed(&mut self, _round: &CompletionBatch) -> u32 {
        self.limit()
    }

    fn reset(&mut self, _now_ns: u64) {}

    fn config(&self) -> Config {
        Config {
            limit: self.units,
            min_limit: self.units,
            max_limit: self.units,
            ..Config::default()
        }
    }

    /// The first of `limit`, `min_limit` and `max_limit` that differs becomes the limit.
    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        let numbers = [config.limit, config.min_limit, config.max_limit];
        let moved = numbers.into_iter().find(|&units| units != self.units);
        let Some(units) = moved else {
            return Ok(());
        };
        if units > MAX_LIMIT {
            return Err(Error::LimitTooLarge { limit: units });
        }
        *self = match self.unit {
            Unit::Bytes => Self::bytes(units),
            Unit::Packets => Self::packets(units),
        };
        Ok(())
    }
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Bytes if self.is_off() => f.write_str("off"),
            Unit::Bytes => write_exact(f, self.units.into(), &SIZES),
            Unit::Packets => write!(f, "{}p", self.units),
        }
    }
}

impl BuiltinLimit for Fixed {
    const INFO: LimitInfo = LimitInfo {
        name: "off",
        usage: "off",
        help: "no limit except the size of the ring",
        adapts: false,
    };
}
