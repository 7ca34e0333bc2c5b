//! The text format of Prometheus.

use std::fmt::Write as _;

use crate::gather::Inventory;
use crate::metrics::{METRICS, Metric, Unit};
use crate::row::QueueRow;
use crate::sampler::{Histogram, LiveSampler};

/// Returns the page with the current values.
pub fn page(inventory: &Result<Inventory, String>, sampler: &LiveSampler<Histogram>) -> String {
    let mut out = String::new();
    family(&mut out, "taut_build_info", "gauge", "The version of taut.");
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(out, "taut_build_info{{version=\"{version}\"}} 1");
    let problems = match inventory {
        Ok(inventory) => {
            push_metrics(&mut out, inventory);
            inventory.problems.len()
        }
        Err(_) => 1,
    };
    push_histograms(&mut out, sampler);
    let help = "Files of queues that could not be read.";
    family(&mut out, "taut_exporter_problems", "gauge", help);
    let _ = writeln!(out, "taut_exporter_problems {problems}");
    out
}

fn push_metrics(out: &mut String, inventory: &Inventory) {
    let all: Vec<&QueueRow> = inventory.rows().chain(&inventory.paths).collect();
    let (packets, bytes): (Vec<&QueueRow>, Vec<&QueueRow>) =
        all.iter().copied().partition(|row| row.in_packets());
    for metric in METRICS {
        let name = metric.prometheus;
        match name.strip_suffix("_bytes") {
            None => push_metric(out, name, metric, &all),
            // The unit of the limit is in the name, so there are two families.
            Some(stem) => {
                push_metric(out, name, metric, &bytes);
                push_metric(out, &format!("{stem}_packets"), metric, &packets);
            }
        }
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    // No help text contains a backslash or a line feed, which would have to be escaped.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn push_metric(out: &mut String, name: &str, metric: &Metric, rows: &[&QueueRow]) {
    let known = |row: &&QueueRow| Some((labels_of(row), metric.value(row)?));
    let samples: Vec<(String, i64)> = rows.iter().filter_map(known).collect();
    if samples.is_empty() {
        return;
    }
    family(out, name, metric.kind.name(), metric.help);
    for (labels, value) in samples {
        let value = in_base_unit(metric.unit, value);
        let _ = writeln!(out, "{name}{{{labels}}} {value}");
    }
}

fn push_histograms(out: &mut String, sampler: &LiveSampler<Histogram>) {
    const NAME: &str = "taut_queue_inflight_sampled_bytes";
    let mut queues = sampler.queues();
    if queues.is_empty() {
        return;
    }
    let help = "What was in flight at moments evenly apart, between scrapes.";
    family(out, NAME, "histogram", help);
    queues.sort_by_cached_key(|it| it.row.key());
    for queue in queues {
        let (labels, histogram) = (labels_of(&queue.row), queue.samples);
        for (end, count) in histogram.cumulative() {
            let _ = writeln!(out, "{NAME}_bucket{{{labels},le=\"{end}\"}} {count}");
        }
        let samples = histogram.samples;
        let _ = writeln!(out, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {samples}");
        let _ = writeln!(out, "{NAME}_sum{{{labels}}} {}", histogram.sum_bytes);
        let _ = writeln!(out, "{NAME}_count{{{labels}}} {samples}");
    }
}

/// Returns the labels of a queue; those of a path include its process.
fn labels_of(row: &QueueRow) -> String {
    let labels = labels(&row.device, row.queue);
    match &row.path {
        None => labels,
        Some(path) => {
            let program = escaped(&path.program);
            format!("{labels},program=\"{program}\",pid=\"{}\"", path.process)
        }
    }
}

fn labels(device: &str, queue: u32) -> String {
    let device = escaped(device);
    format!("device=\"{device}\",queue=\"{queue}\"")
}

fn escaped(value: &str) -> String {
    // First the backslash, which the others add.
    let value = value.replace('\\', "\\\\");
    value.replace('"', "\\\"").replace('\n', "\\n")
}

/// Converts times to seconds and bits to bytes; other values are in base units already.
fn in_base_unit(unit: Unit, value: i64) -> String {
    let per_second: u64 = match unit {
        Unit::Milliseconds => 1_000,
        Unit::Nanoseconds => 1_000_000_000,
        Unit::BitsPerSecond => return (value as f64 / 8.0).to_string(),
        Unit::Bytes | Unit::Count | Unit::Flag => return value.to_string(),
    };
    // Only bytes can be negative.
    let value = value.unsigned_abs();
    let digits = per_second.ilog10() as usize;
    let text = format!("{}.{:0digits$}", value / per_second, value % per_second);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_seconds() {
        assert_eq!(in_base_unit(Unit::Milliseconds, 1000), "1");
        assert_eq!(in_base_unit(Unit::Milliseconds, 1500), "1.5");
        assert_eq!(in_base_unit(Unit::Nanoseconds, 16_160), "0.00001616");
        assert_eq!(in_base_unit(Unit::Nanoseconds, 0), "0");
        assert_eq!(
            in_base_unit(Unit::Nanoseconds, i64::MAX),
            "9223372036.854775807"
        );
        assert_eq!(in_base_unit(Unit::Bytes, 1000), "1000");
        assert_eq!(
            in_base_unit(Unit::BitsPerSecond, 1_000_000_000),
            "125000000"
        );
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(
            labels("a\"b\\c\nd", 3),
            "device=\"a\\\"b\\\\c\\nd\",queue=\"3\""
        );
    }
}
