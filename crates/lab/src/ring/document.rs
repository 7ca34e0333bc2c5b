//! The rows and their comparison, as JSON and as tables.

use serde_json::{Value, json};
use taut_report::document::DOCUMENT_VERSION;

use super::config::RingSweep;
use super::findings::Finding;
use super::rows::RingRow;
use super::table::table;

/// Returns the document.
pub fn document(
    options: &RingSweep,
    rows: &[RingRow],
    findings: &[Finding],
    interrupted: bool,
) -> Value {
    json!({
        "version": DOCUMENT_VERSION,
        "scenario": "ring",
        "taut_version": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "interrupted": interrupted,
        "coalesce_ns": options.coalesce.0,
        "duration_ns": options.duration.0,
        "repetitions": options.repeat,
        "rows": rows,
        "findings": findings,
    })
}

/// Returns a table for each link, and the comparison of its limits.
pub fn text(rows: &[RingRow], findings: &[Finding]) -> String {
    let mut text = String::new();
    for link in rows.chunk_by(RingRow::is_of) {
        text += &table(link);
        for finding in findings.iter().filter(|it| it.is_of(&link[0])) {
            text += &format!("{}\n", finding.sentence());
        }
        text.push('\n');
    }
    text
}
