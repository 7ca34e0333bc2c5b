//! Every metric of a queue: columns, JSON, Prometheus, the manual and `docs/metrics.md` are
//! generated from one table.

mod metric;
mod table;

use serde_json::{Map, Value, json};

use crate::row::QueueRow;

pub use metric::{Kind, Metric, Unit};
pub use table::METRICS;

/// Returns a queue with every metric of the table; `null` is a value that is not known.
pub fn to_json(row: &QueueRow) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    let path = row.path.as_ref();
    let source = if path.is_some() { "taut" } else { "kernel" };
    add("device", json!(row.device));
    add("queue", json!(row.queue));
    add("source", json!(source));
    if let Some(path) = path {
        let unit = if path.in_packets { "packets" } else { "bytes" };
        add("program", json!(path.program));
        add("pid", json!(path.process));
        add("rule", json!(path.rule));
        add("unit", json!(unit));
        add("age_ns", json!(path.age_ns));
    }
    for metric in METRICS {
        // A queue of the kernel never has the metrics of a path.
        if path.is_some() || !metric.is_of_paths() {
            add(metric.name, json!((metric.get)(row)));
        }
    }
    Value::Object(fields)
}

/// Returns the table as a page of Markdown: `docs/metrics.md`.
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

    use super::Kind::{Counter, Gauge};
    use super::Unit::{BitsPerSecond, Bytes, Count, Milliseconds, Nanoseconds};
    use super::*;

    #[test]
    fn names_are_unique_and_end_in_their_unit() {
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
