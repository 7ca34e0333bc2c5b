//! What is known of each metric.

use taut_linux::observe::LIMIT_MAX_UNSET;

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
    /// Its unit.
    pub unit: Unit,
    /// Whether it only grows.
    pub kind: Kind,
    /// Heading of its column, if it has one.
    pub column: Option<&'static str>,
    /// The name in Prometheus, in base units: bytes, seconds. For a limit in packets, the suffix is
    /// `_packets` instead of `_bytes`.
    pub prometheus: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Where the value is read.
    pub source: &'static str,
    /// Returns the value; `None` if it is not known. Only bytes in flight can be negative.
    pub get: fn(&QueueRow) -> Option<i64>,
}

/// Source of the metrics that only a taut path has.
pub(super) const PATH: &str = "a running taut path, which publishes it";

impl Metric {
    /// Returns `true` if it changes with every packet.
    pub fn is_live(&self) -> bool {
        matches!(
            self.name,
            "limit" | "inflight" | "limit_time_ns" | "inflight_time_ns"
        )
    }

    /// Returns `true` if `value` is the highest value of a limit, which limits nothing.
    pub fn is_highest(&self, value: i64) -> bool {
        self.name.starts_with("limit") && value >= LIMIT_MAX_UNSET.cast_signed()
    }

    /// Returns `true` if only a taut path has it.
    pub fn is_of_paths(&self) -> bool {
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
