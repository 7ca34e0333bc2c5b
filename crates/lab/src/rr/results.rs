//! The document of a live run, with a note about rows whose results reflect a busy machine.

use serde_json::{Value, json};
use taut_path::{AnyLimit, LateSegmentation};
use taut_report::document::{DOCUMENT_VERSION, Document};
use taut_scenarios::rr_under_load::{Row, Settings, figures};
use taut_scenarios::schema::Schema;

use super::config::Config;

fn parameters(config: &Config) -> Value {
    let settings = &config.settings;
    let limits: Vec<String> = settings.limits.iter().map(AnyLimit::to_string).collect();
    let late_segmentation: Vec<String> = settings
        .late_segmentation
        .iter()
        .map(LateSegmentation::to_string)
        .collect();
    json!({
        "driver": config.options.driver.name(),
        "rate_bits_per_s": settings.rate.0,
        "ring_slots": settings.ring,
        "coalesce_ns": settings.coalesce.0,
        "qdisc": settings.qdisc,
        "limits": limits,
        "late_segmentation": late_segmentation,
        "streams": settings.streams,
        "duration_ns": settings.duration.0,
    })
}

/// Returns the document of `rows`.
pub fn document(config: &Config, rows: &[Row], interrupted: bool) -> Document {
    let mut figures = match config.is_published() {
        true => figures(rows),
        false => Vec::new(),
    };
    for figure in &mut figures {
        // Only the simulator has this constant.
        figure.constants.retain(|name| *name != "host_latency");
    }
    let row_ns = config.settings.end_ns();
    let series = rows.iter().flat_map(|row| row.series(row_ns));
    let value = |row: &Row| serde_json::to_value(row).unwrap_or_default();
    Document {
        version: DOCUMENT_VERSION,
        scenario: Settings::NAME,
        taut_version: env!("CARGO_PKG_VERSION"),
        seed: config.seed,
        interrupted,
        notes: note(rows, config.settings.coalesce.0).into_iter().collect(),
        parameters: parameters(config),
        rows: rows.iter().map(value).collect(),
        figures,
        series: series.collect(),
        ..Document::default()
    }
}

/// A row is late if the 99th percentile of the wake-up delay exceeds this share of the completion
/// interval. Completions of that time are reported late, so ring, limit and latency grow.
const MAX_LATE_SHARE: f64 = 0.5;

/// Returns `true` if the timers of `row` were late, with completions every `interval_ns`.
fn is_late(row: &Row, interval_ns: u64) -> bool {
    let late_ns = row.timer_lateness_us.map_or(0, |late| late.p99 * 1000);
    late_ns as f64 > interval_ns as f64 * MAX_LATE_SHARE
}

/// Returns a note about the rows whose timers were late, if there are any.
fn note(rows: &[Row], interval_ns: u64) -> Option<String> {
    let late: Vec<&Row> = rows
        .iter()
        .filter(|row| is_late(row, interval_ns))
        .collect();
    let names: Vec<String> = late.iter().map(|row| row.case.to_string()).collect();
    let times = late.iter().filter_map(|row| row.timer_lateness_us);
    let (p99, max) = (
        times.clone().map(|it| it.p99).max()?,
        times.map(|it| it.max).max()?,
    );
    Some(format!(
        "late: the machine was busy during {}. Timers fired up to {p99} us late (p99), at most \
         {max} us; completions are polled every {} us. Results overstate limits and latencies. \
         Repeat on an idle machine.",
        names.join("; "),
        interval_ns / 1000,
    ))
}

#[cfg(test)]
mod tests {
    use taut_measure::meter::{Curve, Quantiles, histogram_ns};
    use taut_scenarios::rr_under_load::{Case, Lateness};

    use super::*;

    fn row(p99: Option<u64>) -> Row {
        Row {
            case: Case {
                limit: AnyLimit::dql(),
                tso: false,
                late_segmentation: LateSegmentation::Off,
            },
            inflight_bytes: Quantiles::default(),
            backlog_packets: Quantiles::default(),
            limit_bytes_p50: None,
            rr_tps: 0.0,
            latency_ns: histogram_ns(),
            goodput_bps: 0,
            cpu_percent: None,
            drops: 0,
            marks: 0,
            retransmits: 0,
            stalls: None,
            timer_lateness_us: p99.map(|p99| Lateness {
                p50: 1,
                p99,
                max: 9_000,
            }),
            curve: Curve::default(),
        }
    }

    #[test]
    fn row_is_late_from_half_an_interval_on() {
        let rows = [row(None), row(Some(125)), row(Some(126))];
        let late = rows.iter().map(|row| is_late(row, 250_000));
        assert_eq!(late.collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(note(&rows[..2], 250_000), None);
        let text = note(&rows, 250_000).expect("one is late");
        for part in ["limit dql, TSO off", "126 us", "9000 us", "every 250 us"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
