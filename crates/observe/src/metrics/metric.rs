//! A row of the table of metrics.

use taut_linux::observe::{LIMIT_MAX_UNSET, excess_bytes};

use crate::row::QueueRow;

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes; packets where the limit counts packets.
    Bytes,
    /// Bit/s.
    BitsPerSecond,
    /// ms.
    Milliseconds,
    /// ns.
    Nanoseconds,
    /// Events.
    Count,
    /// 0 or 1.
    Flag,
}

/// How a metric changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// In both directions.
    Gauge,
    /// It only grows.
    Counter,
}

/// One metric of a queue.
#[derive(Debug)]
pub struct Metric {
    /// The field in JSON.
    pub name: &'static str,
    /// Unit of the value; bytes stand for packets where the limit counts packets.
    pub unit: Unit,
    /// Directions in which the value changes.
    pub kind: Kind,
    /// Heading of its column, if it has one.
    pub column: Option<&'static str>,
    /// The name in Prometheus, in base units: bytes, seconds. For a limit in packets, the suffix is
    /// `_packets` instead of `_bytes`.
    pub prometheus: &'static str,
    /// Description, in one sentence.
    pub help: &'static str,
    /// Where the value is read.
    pub source: &'static str,
    /// Reads the value of a row; `None` if it is not known.
    pub(super) get: fn(&QueueRow) -> Option<u64>,
}

/// Source of the metrics that only a taut path has.
pub(super) const PATH: &str = "a running taut path, which publishes it";

impl Metric {
    /// Returns the value; `None` if it is not known. Only bytes in flight can be negative.
    pub fn value(&self, row: &QueueRow) -> Option<i64> {
        let value = (self.get)(row)?;
        // No counter reaches 2^63.
        let signed = |value| i64::try_from(value).unwrap_or(i64::MAX);
        match excess_bytes(value).filter(|_| self.name == "inflight") {
            Some(excess) => Some(-signed(excess)),
            None => Some(signed(value)),
        }
    }

    /// Returns `true` if `taut top` draws the metric over time, on a line of its own.
    pub fn has_own_line(&self) -> bool {
        matches!(
            self.name,
            "limit" | "inflight" | "limit_time_ns" | "inflight_time_ns"
        )
    }

    /// Returns `true` if the metric is a limit or a bound of it, and `value` is at least the
    /// kernel's default maximum.
    pub fn is_highest(&self, value: i64) -> bool {
        let is_limit = self.unit == Unit::Bytes && self.name.starts_with("limit");
        is_limit && value >= LIMIT_MAX_UNSET.cast_signed()
    }

    /// Returns `true` if only published queues have the metric.
    pub fn is_published_only(&self) -> bool {
        self.source == PATH
    }
}

impl Unit {
    /// Returns the name that `docs/metrics.md` uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::BitsPerSecond => "bit/s",
            Self::Milliseconds => "ms",
            Self::Nanoseconds => "ns",
            Self::Count => "events",
            Self::Flag => "0 or 1",
        }
    }
}

impl Kind {
    /// Returns the name that Prometheus uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
        }
    }
}
