//! Published results of E1.

use taut_path::{AnyLimit, LateSegmentation};

use super::{Case, Row};
use crate::on_off::on_off;
use crate::prelude::*;
use taut_report::document::Figure;

/// Names of the published results.
pub(super) const BYTES: &str = "inflight_bytes_p90";
pub(super) const TPS: &str = "rr_tps";

/// Returns the start of the ids of a case's published results, `None` if it was not published. The
/// limit was Linux's rule, then the only one.
pub(super) fn published_id(case: &Case) -> Option<String> {
    let is_known = !case.bql() || case.limit == AnyLimit::dql();
    let is_known = is_known && case.late_segmentation == LateSegmentation::Off;
    let (limit, tso) = (on_off(case.bql()), on_off(case.tso));
    is_known.then(|| format!("E1/bql_{limit}/tso_{tso}"))
}

/// Compares `rows` with the published results.
pub fn figures(rows: &[Row]) -> Vec<Figure> {
    let mut found = Results::default();
    for row in rows {
        if let Some(id) = published_id(&row.case) {
            let bytes = row.inflight_bytes.p90 as f64;
            found.compare(format!("{id}/{BYTES}"), bytes);
            found.compare(format!("{id}/{TPS}"), row.rr_tps);
        }
    }
    found.figures
}
