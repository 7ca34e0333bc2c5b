//! The document of a live run.

use serde_json::{Value, json};
use taut_path::{AnyLimit, LateSegmentation};
use taut_report::document::{DOCUMENT_VERSION, Document};
use taut_scenarios::rr_under_load::{Row, Settings, figures};
use taut_scenarios::schema::Schema;

use super::config::Config;
use super::late;

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
    let series = rows.iter().flat_map(|row| row.series(config.row_ns()));
    let value = |row: &Row| serde_json::to_value(row).unwrap_or_default();
    Document {
        version: DOCUMENT_VERSION,
        scenario: Settings::NAME,
        taut_version: env!("CARGO_PKG_VERSION"),
        seed: config.seed,
        interrupted,
        notes: late::note(rows, config.settings.coalesce.0)
            .into_iter()
            .collect(),
        parameters: parameters(config),
        rows: rows.iter().map(value).collect(),
        figures,
        series: series.collect(),
        ..Document::default()
    }
}
