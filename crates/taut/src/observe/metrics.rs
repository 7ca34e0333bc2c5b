//! Every figure of a queue, a line each: columns, JSON, Prometheus, the manual and the docs are made
//! from this table.

use super::row::Row;

/// What one unit of a figure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    BitsPerSecond,
    Milliseconds,
    Nanoseconds,
    /// Events.
    Count,
}

/// Whether a figure only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Gauge,
    Counter,
}

/// One figure of a queue.
#[derive(Debug)]
pub struct Metric {
    /// The field in JSON.
    pub name: &'static str,
    pub unit: Unit,
    pub kind: Kind,
    /// Heading of the column, if it has one.
    pub column: Option<&'static str>,
    /// The name in Prometheus, in base units: bytes, seconds. Of a limit in packets `_bytes` becomes
    /// `_packets`.
    pub prometheus: &'static str,
    pub help: &'static str,
    /// Where the figure is from.
    pub source: &'static str,
    pub get: fn(&Row) -> Option<u64>,
}

use Kind::{Counter, Gauge};
use Unit::{BitsPerSecond, Bytes, Count, Milliseconds, Nanoseconds};

/// The table.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "limit",
        unit: Bytes,
        kind: Gauge,
        column: Some("limit"),
        prometheus: "taut_queue_limit_bytes",
        help: "How much may be in flight.",
        source: "byte_queue_limits/limit",
        get: |row| row.limits.limit,
    },
    Metric {
        name: "inflight",
        unit: Bytes,
        kind: Gauge,
        column: Some("in flight"),
        prometheus: "taut_queue_inflight_bytes",
        help: "Given to the device and not reported complete.",
        source: "byte_queue_limits/inflight",
        get: |row| row.limits.in_flight,
    },
    Metric {
        name: "limit_min",
        unit: Bytes,
        kind: Gauge,
        column: Some("min"),
        prometheus: "taut_queue_limit_min_bytes",
        help: "The least that the rule may set.",
        source: "byte_queue_limits/limit_min",
        get: |row| row.limits.limit_min,
    },
    Metric {
        name: "limit_max",
        unit: Bytes,
        kind: Gauge,
        column: Some("max"),
        prometheus: "taut_queue_limit_max_bytes",
        help: "The most that the rule may set; 1879048192 if nobody set it.",
        source: "byte_queue_limits/limit_max",
        get: |row| row.limits.limit_max,
    },
    Metric {
        name: "hold_time_ms",
        unit: Milliseconds,
        kind: Gauge,
        column: Some("hold"),
        prometheus: "taut_queue_hold_time_seconds",
        help: "How long slack is observed before the limit is cut.",
        source: "byte_queue_limits/hold_time",
        get: |row| row.limits.hold_time_ms,
    },
    Metric {
        name: "stall_thrs_ms",
        unit: Milliseconds,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_stall_threshold_seconds",
        help: "Age from which the oldest byte in flight is a stall; 0 if that is not watched.",
        source: "byte_queue_limits/stall_thrs (Linux 6.9)",
        get: |row| row.limits.stall_threshold_ms,
    },
    Metric {
        name: "stall_cnt",
        unit: Count,
        kind: Counter,
        column: Some("stalls"),
        prometheus: "taut_queue_stalls_total",
        help: "Stalls so far.",
        source: "byte_queue_limits/stall_cnt (Linux 6.9)",
        get: |row| row.limits.stalls,
    },
    Metric {
        name: "stall_max_ms",
        unit: Milliseconds,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_longest_stall_seconds",
        help: "The longest stall so far.",
        source: "byte_queue_limits/stall_max (Linux 6.9)",
        get: |row| row.limits.longest_stall_ms,
    },
    Metric {
        name: "rate_bits_per_s",
        unit: BitsPerSecond,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_link_speed_bytes_per_second",
        help: "Speed of the link, or the rate that was said.",
        source: "class/net/DEV/speed, or --rate",
        get: |row| row.rate_bits_per_s,
    },
    Metric {
        name: "limit_time_ns",
        unit: Nanoseconds,
        kind: Gauge,
        column: Some("limit is"),
        prometheus: "taut_queue_limit_seconds",
        help: "How long the link needs for the limit.",
        source: "limit over rate_bits_per_s",
        get: |row| row.link_time_ns(row.limits.limit),
    },
    Metric {
        name: "inflight_time_ns",
        unit: Nanoseconds,
        kind: Gauge,
        column: Some("in flight is"),
        prometheus: "taut_queue_inflight_seconds",
        help: "How long the link needs for what is in flight: what a packet of any priority waits.",
        source: "inflight over rate_bits_per_s",
        get: |row| row.link_time_ns(row.limits.in_flight),
    },
    Metric {
        name: "tx_timeout",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_timeouts_total",
        help: "Times that the kernel's watchdog found the queue stuck.",
        source: "queues/tx-N/tx_timeout",
        get: |row| row.tx_timeouts,
    },
    Metric {
        name: "enqueued_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_enqueued_packets_total",
        help: "Packets offered to the discipline.",
        source: PATH,
        get: |row| row.of_figures(|it| it.enqueued_packets),
    },
    Metric {
        name: "sent_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_sent_packets_total",
        help: "Packets given to the device.",
        source: PATH,
        get: |row| row.of_figures(|it| it.sent_packets),
    },
    Metric {
        name: "sent_bytes",
        unit: Bytes,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_sent_bytes_total",
        help: "Bytes given to the device.",
        source: PATH,
        get: |row| row.of_figures(|it| it.sent_bytes),
    },
    Metric {
        name: "completed_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_completed_packets_total",
        help: "Packets that the device finished.",
        source: PATH,
        get: |row| row.of_figures(|it| it.completed_packets),
    },
    Metric {
        name: "completed_bytes",
        unit: Bytes,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_completed_bytes_total",
        help: "Bytes that the device finished.",
        source: PATH,
        get: |row| row.of_figures(|it| it.completed_bytes),
    },
    Metric {
        name: "dropped_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_dropped_packets_total",
        help: "Packets dropped, for any reason.",
        source: PATH,
        get: |row| row.of_figures(|it| it.dropped_packets),
    },
    Metric {
        name: "marked_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_marked_packets_total",
        help: "Packets marked by the discipline.",
        source: PATH,
        get: |row| row.of_figures(|it| it.marked_packets),
    },
    Metric {
        name: "limit_stops",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_limit_stops_total",
        help: "Times that the limit stopped the queue.",
        source: PATH,
        get: |row| row.of_figures(|it| it.limit_stops),
    },
    Metric {
        name: "ring_stops",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_ring_stops_total",
        help: "Times that a full ring stopped the queue.",
        source: PATH,
        get: |row| row.of_figures(|it| it.ring_stops),
    },
    Metric {
        name: "kicks",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_kicks_total",
        help: "Doorbells rung.",
        source: PATH,
        get: |row| row.of_figures(|it| it.kicks),
    },
    Metric {
        name: "rounds",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_rounds_total",
        help: "Rounds in which something was completed.",
        source: PATH,
        get: |row| row.of_figures(|it| it.rounds),
    },
    Metric {
        name: "starved",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_starved_total",
        help: "Rounds after which the device was empty while the limit held the sender back.",
        source: PATH,
        get: |row| row.of_figures(|it| it.starved),
    },
    Metric {
        name: "late_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_late_packets_total",
        help: "Packets of before a reset.",
        source: PATH,
        get: |row| row.of_figures(|it| it.late_packets),
    },
    Metric {
        name: "stray_packets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_stray_packets_total",
        help: "Packets that the driver handed back and that were never sent.",
        source: PATH,
        get: |row| row.of_figures(|it| it.stray_packets),
    },
    Metric {
        name: "resets",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_resets_total",
        help: "Resets of the queue.",
        source: PATH,
        get: |row| row.of_figures(|it| it.resets),
    },
    Metric {
        name: "completions_are_false",
        unit: Count,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_completions_are_false",
        help: "1 if completions do not mean that packets left the device: there is no limit then.",
        source: PATH,
        get: |row| row.of_figures(|it| it.completions_are_false),
    },
];

/// Where the figures are from that only a taut path has.
const PATH: &str = "a running taut path, which publishes it";

impl Metric {
    /// Whether it changes with every packet.
    pub fn is_live(&self) -> bool {
        matches!(
            self.name,
            "limit" | "inflight" | "limit_time_ns" | "inflight_time_ns"
        )
    }

    /// Whether only a taut path has it.
    pub fn is_of_paths(&self) -> bool {
        self.source == PATH
    }
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Bytes => "bytes",
            BitsPerSecond => "bit/s",
            Milliseconds => "ms",
            Nanoseconds => "ns",
            Count => "events",
        }
    }
}

impl Kind {
    /// As Prometheus names it.
    pub const fn name(self) -> &'static str {
        match self {
            Gauge => "gauge",
            Counter => "counter",
        }
    }
}

/// The table as a page of Markdown: `docs/metrics.md`.
pub fn markdown() -> String {
    let mut page = "# The figures of a queue\n\n\
        Made by `taut show --metrics`. *JSON* is the field in `-j`; times and rates in Prometheus \
        are in seconds and bytes per second.\n\n\
        | JSON | unit | Prometheus | kind | what it is | where from |\n\
        |---|---|---|---|---|---|\n"
        .to_owned();
    for it in METRICS {
        let (unit, kind) = (it.unit.name(), it.kind.name());
        page += &format!(
            "| `{}` | {unit} | `{}` | {kind} | {} | {} |\n",
            it.name, it.prometheus, it.help, it.source
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_there_once_and_say_their_unit() {
        let names: HashSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let prometheus: HashSet<&str> = METRICS.iter().map(|metric| metric.prometheus).collect();
        assert_eq!(
            (names.len(), prometheus.len()),
            (METRICS.len(), METRICS.len())
        );
        for metric in METRICS {
            let suffix = match (metric.kind, metric.unit) {
                (Counter, Count | Bytes) => "_total",
                (Gauge, Count) => "",
                (Gauge, Bytes) => "_bytes",
                (Gauge, Milliseconds | Nanoseconds) => "_seconds",
                (Gauge, BitsPerSecond) => "_bytes_per_second",
                (kind, unit) => panic!("{}: {kind:?} of {unit:?} has no name yet", metric.name),
            };
            assert!(metric.prometheus.ends_with(suffix), "{}", metric.prometheus);
            assert!(metric.prometheus.starts_with("taut_queue_"));
            assert!(metric.help.ends_with('.') && !metric.source.is_empty());
        }
    }
}
