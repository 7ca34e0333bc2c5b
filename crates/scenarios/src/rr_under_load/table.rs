//! The table of E1: the important columns, and the published results below each row.

use serde_json::{Value, json};
use taut_report::document::{Document, Figure};
use taut_report::text;
use taut_report::verdict;

use super::Case;
use super::published::{BYTES, TPS, published_id};
use crate::on_off::on_off;

/// Returns the table and its notes, at most `width` columns wide.
pub(crate) fn text(document: &Document, width: Option<usize>) -> String {
    let mut rows = Vec::new();
    for row in &document.rows {
        rows.push(short(row));
        rows.extend(Case::of_row(row).and_then(|case| published(&case, &document.figures)));
    }
    let shown = Document {
        rows,
        ..document.clone()
    };
    text::text(&shown, width)
}

fn short(row: &Value) -> Value {
    let (backlog, latency) = (&row["backlog_packets"], &row["rr_latency_us"]);
    let mut short = json!({
        "limit": row["limit"],
        "TSO": match row["late_segmentation"].as_str() {
            Some(mode) if mode != "off" => mode,
            _ => on_off(row["tso"] == true),
        },
        "in_ring_bytes": row["inflight_bytes"],
        "limit_bytes_p50": row["limit_bytes_p50"],
        "rr_tps": row["rr_tps"],
        "latency_us": {"p50": latency["p50"], "p99": latency["p99"]},
        "goodput_bps": row["goodput_bps"],
        "backlog_packets": {"p50": backlog["p50"], "max": backlog["max"]},
        "drops": row["drops"],
        "marks": row["marks"],
        "retransmits": row["retransmits"],
    });
    // Only live.
    if !row["cpu_percent"].is_null() {
        short["cpu_percent"] = row["cpu_percent"].clone();
    }
    if !row["timer_lateness_us"].is_null() {
        short["timer_lateness_us"] = json!({"p99": row["timer_lateness_us"]["p99"]});
    }
    short
}

/// Returns the published results of a case, if there are any, in the columns of its row.
fn published(case: &Case, figures: &[Figure]) -> Option<Value> {
    let id = published_id(case)?;
    let value = |name: &str| {
        let found = figures.iter().find(|it| it.id == format!("{id}/{name}"));
        found.map(|figure| match figure.published[..] {
            [one] => json!(one),
            _ => verdict::published(figure).into(),
        })
    };
    Some(json!({
        "limit": "  published",
        "TSO": "",
        "in_ring_bytes": {"p90": value(BYTES)?},
        "rr_tps": value(TPS)?,
    }))
}
