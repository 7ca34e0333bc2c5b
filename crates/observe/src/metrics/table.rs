//! The table of metrics.

use super::metric::Kind::{Counter, Gauge};
use super::metric::Unit::{BitsPerSecond, Bytes, Count, Flag, Milliseconds, Nanoseconds};
use super::metric::{Get, Metric, PATH};
use taut_linux::publish::QueueMetrics;

/// Every metric of a queue, one row each.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "limit",
        unit: Bytes,
        kind: Gauge,
        column: Some("limit"),
        prometheus: "taut_queue_limit_bytes",
        help: "The byte limit.",
        source: "byte_queue_limits/limit",
        get: Get::Row(|row| row.limits.limit),
    },
    Metric {
        name: "unlimited",
        unit: Flag,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_unlimited",
        help: "1 if the limit is its highest value or does not apply.",
        source: "byte_queue_limits/limit is 1879048192; early completions of a taut path",
        get: Get::Row(|row| row.limits.limit.map(|_| row.is_unlimited().into())),
    },
    Metric {
        name: "inflight",
        unit: Bytes,
        kind: Gauge,
        column: Some("in flight"),
        prometheus: "taut_queue_inflight_bytes",
        help: "Bytes submitted to the device and not reported complete; negative if more was \
               completed than submitted.",
        source: "byte_queue_limits/inflight",
        get: Get::Row(|row| row.limits.in_flight),
    },
    Metric {
        name: "limit_min",
        unit: Bytes,
        kind: Gauge,
        column: Some("min"),
        prometheus: "taut_queue_limit_min_bytes",
        help: "Minimum limit.",
        source: "byte_queue_limits/limit_min",
        get: Get::Row(|row| row.limits.limit_min),
    },
    Metric {
        name: "limit_max",
        unit: Bytes,
        kind: Gauge,
        column: Some("max"),
        prometheus: "taut_queue_limit_max_bytes",
        help: "Maximum limit; 1879048192 by default.",
        source: "byte_queue_limits/limit_max",
        get: Get::Row(|row| row.limits.limit_max),
    },
    Metric {
        name: "hold_time_ms",
        unit: Milliseconds,
        kind: Gauge,
        column: Some("hold time"),
        prometheus: "taut_queue_hold_time_seconds",
        help: "How long slack is observed before the limit is decreased.",
        source: "byte_queue_limits/hold_time",
        get: Get::Row(|row| row.limits.hold_time_ms),
    },
    Metric {
        name: "stall_thrs_ms",
        unit: Milliseconds,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_stall_threshold_seconds",
        help: "Age from which the oldest byte in flight counts as a stall; 0: off.",
        source: "byte_queue_limits/stall_thrs (Linux 6.9)",
        get: Get::Row(|row| row.limits.stall_threshold_ms),
    },
    Metric {
        name: "stall_cnt",
        unit: Count,
        kind: Counter,
        column: Some("stalls"),
        prometheus: "taut_queue_stalls_total",
        help: "Number of stalls.",
        source: "byte_queue_limits/stall_cnt (Linux 6.9)",
        get: Get::Row(|row| row.limits.stalls),
    },
    Metric {
        name: "stall_max_ms",
        unit: Milliseconds,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_longest_stall_seconds",
        help: "Longest stall.",
        source: "byte_queue_limits/stall_max (Linux 6.9)",
        get: Get::Row(|row| row.limits.longest_stall_ms),
    },
    Metric {
        name: "rate_bits_per_s",
        unit: BitsPerSecond,
        kind: Gauge,
        column: None,
        prometheus: "taut_queue_link_speed_bytes_per_second",
        help: "Speed of the link, or the given rate.",
        source: "class/net/DEV/speed, or --rate",
        get: Get::Row(|row| row.rate_bits_per_s),
    },
    Metric {
        name: "limit_time_ns",
        unit: Nanoseconds,
        kind: Gauge,
        column: Some("limit time"),
        prometheus: "taut_queue_limit_seconds",
        help: "Time that the link needs for the limit.",
        source: "limit over rate_bits_per_s",
        get: Get::Row(|row| row.link_time_ns(row.limits.limit.filter(|_| !row.is_unlimited()))),
    },
    Metric {
        name: "inflight_time_ns",
        unit: Nanoseconds,
        kind: Gauge,
        column: Some("in-flight time"),
        prometheus: "taut_queue_inflight_seconds",
        help: "Time that the link needs for the bytes in flight, for packets of any priority.",
        source: "inflight over rate_bits_per_s",
        get: Get::Row(|row| row.link_time_ns(row.amount_in_flight())),
    },
    Metric {
        name: "tx_timeout",
        unit: Count,
        kind: Counter,
        column: None,
        prometheus: "taut_queue_timeouts_total",
        help: "Transmit timeouts detected by the kernel's watchdog.",
        source: "queues/tx-N/tx_timeout",
        get: Get::Row(|row| row.tx_timeouts),
    },
    published(
        "enqueued_packets",
        "taut_queue_enqueued_packets_total",
        "Packets offered to the discipline.",
        |it| it.enqueued_packets,
    ),
    published(
        "sent_packets",
        "taut_queue_sent_packets_total",
        "Packets submitted to the device.",
        |it| it.sent_packets,
    ),
    Metric {
        unit: Bytes,
        ..published(
            "sent_bytes",
            "taut_queue_sent_bytes_total",
            "Bytes submitted to the device.",
            |it| it.sent_bytes,
        )
    },
    published(
        "completed_packets",
        "taut_queue_completed_packets_total",
        "Packets completed by the device.",
        |it| it.completed_packets,
    ),
    Metric {
        unit: Bytes,
        ..published(
            "completed_bytes",
            "taut_queue_completed_bytes_total",
            "Bytes completed by the device.",
            |it| it.completed_bytes,
        )
    },
    published(
        "dropped_packets",
        "taut_queue_dropped_packets_total",
        "Packets dropped, for any reason.",
        |it| it.dropped_packets,
    ),
    published(
        "marked_packets",
        "taut_queue_marked_packets_total",
        "Packets marked by the discipline.",
        |it| it.marked_packets,
    ),
    published(
        "limit_stops",
        "taut_queue_limit_stops_total",
        "Times that the limit stopped the queue.",
        |it| it.limit_stops,
    ),
    published(
        "ring_stops",
        "taut_queue_ring_stops_total",
        "Times that a full ring stopped the queue.",
        |it| it.ring_stops,
    ),
    published("kicks", "taut_queue_kicks_total", "Doorbells rung.", |it| {
        it.kicks
    }),
    published(
        "completion_batches",
        "taut_queue_completion_batches_total",
        "Completion batches with at least one packet.",
        |it| it.completion_batches,
    ),
    published(
        "starved",
        "taut_queue_starved_total",
        "Completion batches that left the device empty while the limit blocked the sender.",
        |it| it.starved,
    ),
    published(
        "stale_packets",
        "taut_queue_stale_packets_total",
        "Packets that completed after they had been abandoned, such as at a reset.",
        |it| it.stale_packets,
    ),
    published(
        "unknown_completions",
        "taut_queue_unknown_completions_total",
        "Completions of packets that were never sent (driver bug).",
        |it| it.unknown_completions,
    ),
    published(
        "resets",
        "taut_queue_resets_total",
        "Resets of the queue.",
        |it| it.resets,
    ),
    Metric {
        unit: Flag,
        kind: Gauge,
        ..published(
            "early_completions",
            "taut_queue_early_completions",
            "1 if completions are early, before packets left the device: no limit applies then.",
            |it| it.early_completions,
        )
    },
];

/// A counter that only a taut path has.
const fn published(
    name: &'static str,
    prometheus: &'static str,
    help: &'static str,
    get: fn(&QueueMetrics) -> u64,
) -> Metric {
    Metric {
        name,
        unit: Count,
        kind: Counter,
        column: None,
        prometheus,
        help,
        source: PATH,
        get: Get::Published(get),
    }
}
