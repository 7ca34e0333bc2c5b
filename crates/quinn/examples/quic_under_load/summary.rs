//! The variants with an automatic limit, compared with plain quinn and with the best fixed buffer.

use serde::Serialize;
use taut_lab::experiment::Row;
use taut_report::document::Summary;

use super::case::{Case, Variant};
use super::row::RunResult;

type Rows = Row<Case, RunResult>;

const TITLE: &str =
    "In per cent of plain, and of the quickest buffer that keeps 99 % of plain's goodput";
/// Minimum share of plain's goodput for a buffer to be considered, in percent.
const KEPT_PERCENT: f64 = 99.0;

#[derive(Debug, Serialize)]
struct ComparisonRow {
    variant: String,
    connections: u32,
    goodput_of_plain: f64,
    request_p50_of_plain: f64,
    /// `None` if no buffer reaches the minimum.
    best_buffer: Option<String>,
    request_p50_of_best_buffer: Option<f64>,
    cpu_for_a_byte_of_plain: f64,
}

/// Returns `None` without rows of plain to compare with.
pub fn summary(rows: &[Rows]) -> Option<Summary> {
    let values: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row, of(row, rows)?)))
        .filter(|(row, _)| !matches!(row.case.variant, Variant::Plain | Variant::Buffer(..)))
        .filter_map(|(_, row)| serde_json::to_value(row).ok())
        .collect();
    (!values.is_empty()).then_some(Summary {
        title: TITLE,
        rows: values,
    })
}

fn of(row: &Rows, rows: &[Rows]) -> Option<ComparisonRow> {
    let beside = || (rows.iter()).filter(|it| it.case.connections == row.case.connections);
    let plain = beside().find(|it| it.case.variant == Variant::Plain)?;
    let best = beside()
        .filter(|it| matches!(it.case.variant, Variant::Buffer(..)))
        .filter(|it| percent(goodput(it), goodput(plain)) >= KEPT_PERCENT)
        .min_by_key(|it| request_ns(it));
    let of_best = best.map(|best| percent(request_ns(row) as f64, request_ns(best) as f64));
    Some(ComparisonRow {
        variant: row.case.variant.name(),
        connections: row.case.connections,
        goodput_of_plain: percent(goodput(row), goodput(plain)),
        request_p50_of_plain: percent(request_ns(row) as f64, request_ns(plain) as f64),
        best_buffer: best.map(|best| best.case.variant.name()),
        request_p50_of_best_buffer: of_best,
        cpu_for_a_byte_of_plain: percent(cpu_for_a_byte(row), cpu_for_a_byte(plain)),
    })
}

fn goodput(row: &Rows) -> f64 {
    median(row, |ran| ran.goodput_bps) as f64
}

fn request_ns(row: &Rows) -> u64 {
    median(row, |ran| ran.request_ns.value_at_quantile(0.5))
}

fn cpu_for_a_byte(row: &Rows) -> f64 {
    median(row, |ran| ran.cpu_ns * 1_000 / ran.received_bytes.max(1)) as f64
}

fn median(row: &Rows, of: impl Fn(&RunResult) -> u64) -> u64 {
    row.median(of).unwrap_or(0)
}

/// Rounded to a tenth.
fn percent(part: f64, whole: f64) -> f64 {
    (part * 1_000.0 / whole.max(1.0)).round() / 10.0
}
