//! The table of metrics.

use super::metric::Kind::{Counter, Gauge};
use super::metric::Unit::{BitsPerSecond, Bytes, Count, Flag, Milliseconds, Nanoseconds};
use super::metric::{Metric, PATH};

/// A metric of every queue: its name, unit, kind and column; its name in Prometheus; its
/// description; its source and its value.
macro_rules! metric {
    ($name:literal $unit:ident $kind:ident $column:expr; $prometheus:literal; $help:literal;
     $source:literal: $get:expr) => {
        Metric {
            name: $name,
            unit: $unit,
            kind: $kind,
            column: $column,
            prometheus: concat!("taut_queue_", $prometheus),
            help: $help,
            source: $source,
            get: $get,
        }
    };
}

/// A metric that only a taut path has, named as its field of `QueueMetrics`. The suffix of a
/// counter in Prometheus is `_total`.
macro_rules! published {
    ($name:ident $unit:ident $kind:ident $suffix:literal; $help:literal) => {
        Metric {
            name: stringify!($name),
            unit: $unit,
            kind: $kind,
            column: None,
            prometheus: concat!("taut_queue_", stringify!($name), $suffix),
            help: $help,
            source: PATH,
            get: |row| row.published(|metrics| metrics.$name),
        }
    };
    ($name:ident $unit:ident; $help:literal) => {
        published!($name $unit Counter "_total"; $help)
    };
}

/// Every metric of a queue, one row each.
pub const METRICS: &[Metric] = &[
    metric!("limit" Bytes Gauge Some("limit"); "limit_bytes";
        "The byte limit.";
        "byte_queue_limits/limit": |row| row.limits.limit),
    metric!("unlimited" Flag Gauge None; "unlimited";
        "1 if the limit is its highest value or does not apply.";
        "byte_queue_limits/limit is 1879048192; early completions of a taut path":
        |row| row.limits.limit.map(|_| row.is_unlimited().into())),
    metric!("inflight" Bytes Gauge Some("in flight"); "inflight_bytes";
        "Bytes submitted to the device and not reported complete; negative if more was completed \
         than submitted.";
        "byte_queue_limits/inflight": |row| row.limits.in_flight),
    metric!("limit_min" Bytes Gauge Some("min"); "limit_min_bytes";
        "Minimum limit.";
        "byte_queue_limits/limit_min": |row| row.limits.limit_min),
    metric!("limit_max" Bytes Gauge Some("max"); "limit_max_bytes";
        "Maximum limit; 1879048192 by default.";
        "byte_queue_limits/limit_max": |row| row.limits.limit_max),
    metric!("hold_time_ms" Milliseconds Gauge Some("hold time"); "hold_time_seconds";
        "How long slack is observed before the limit is decreased.";
        "byte_queue_limits/hold_time": |row| row.limits.hold_time_ms),
    metric!("stall_thrs_ms" Milliseconds Gauge None; "stall_threshold_seconds";
        "Age from which the oldest byte in flight counts as a stall; 0: off.";
        "byte_queue_limits/stall_thrs (Linux 6.9)": |row| row.limits.stall_threshold_ms),
    metric!("stall_cnt" Count Counter Some("stalls"); "stalls_total";
        "Number of stalls.";
        "byte_queue_limits/stall_cnt (Linux 6.9)": |row| row.limits.stalls),
    metric!("stall_max_ms" Milliseconds Gauge None; "longest_stall_seconds";
        "Longest stall.";
        "byte_queue_limits/stall_max (Linux 6.9)": |row| row.limits.longest_stall_ms),
    metric!("rate_bits_per_s" BitsPerSecond Gauge None; "link_speed_bytes_per_second";
        "Speed of the link, or the given rate.";
        "class/net/DEV/speed, or --rate": |row| row.rate_bits_per_s),
    metric!("limit_time_ns" Nanoseconds Gauge Some("limit time"); "limit_seconds";
        "Time that the link needs for the limit.";
        "limit over rate_bits_per_s":
        |row| row.link_time_ns(row.limits.limit.filter(|_| !row.is_unlimited()))),
    metric!("inflight_time_ns" Nanoseconds Gauge Some("in-flight time"); "inflight_seconds";
        "Time that the link needs for the bytes in flight, for packets of any priority.";
        "inflight over rate_bits_per_s": |row| row.link_time_ns(row.amount_in_flight())),
    metric!("tx_timeout" Count Counter None; "timeouts_total";
        "Transmit timeouts detected by the kernel's watchdog.";
        "queues/tx-N/tx_timeout": |row| row.tx_timeouts),
    published!(enqueued_packets Count; "Packets offered to the discipline."),
    published!(sent_packets Count; "Packets submitted to the device."),
    published!(sent_bytes Bytes; "Bytes submitted to the device."),
    published!(completed_packets Count; "Packets completed by the device."),
    published!(completed_bytes Bytes; "Bytes completed by the device."),
    published!(dropped_packets Count; "Packets dropped, for any reason."),
    published!(marked_packets Count; "Packets marked by the discipline."),
    published!(limit_stops Count; "Times that the limit stopped the queue."),
    published!(ring_stops Count; "Times that a full ring stopped the queue."),
    published!(kicks Count; "Doorbells rung."),
    published!(completion_batches Count; "Completion batches with at least one packet."),
    published!(starved Count;
        "Completion batches that left the device empty while the limit blocked the sender."),
    published!(stale_packets Count;
        "Packets that completed after they had been abandoned, such as at a reset."),
    published!(unknown_completions Count;
        "Completions of packets that were never sent (driver bug)."),
    published!(resets Count; "Resets of the queue."),
    published!(early_completions Flag Gauge "";
        "1 if completions are early, before packets left the device: no limit applies then."),
];
