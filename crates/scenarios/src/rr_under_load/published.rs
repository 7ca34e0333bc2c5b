//! Published results of E1.

use taut_path::{AnyLimit, LateSegmentation};

use super::{Case, Row};
use crate::on_off::on_off;
use taut_report::document::Figure;

/// The published row of one case.
pub(super) struct Published {
    /// Whether the queue was limited by Linux's rule, then the only one.
    bql: bool,
    /// Whether the senders used GSO packets.
    tso: bool,
    /// Bytes in the device queue, or the ends of their range.
    pub ring_bytes: &'static [f64],
    /// Transactions/s.
    pub rr_tps: f64,
}

const fn published(bql: bool, tso: bool, ring_bytes: &'static [f64], rr_tps: f64) -> Published {
    Published {
        bql,
        tso,
        ring_bytes,
        rr_tps,
    }
}

/// E1 in `docs/sources.md`: 100 bulk streams and one
/// request/response at high priority on 1 Gbit/s, e1000, ring 1024, pfifo_fast.
const PUBLISHED: [Published; 4] = [
    published(false, true, &[3_000_000.0, 3_200_000.0], 36.0),
    published(true, true, &[156_000.0, 194_000.0], 535.0),
    published(false, false, &[453_000.0, 454_000.0], 234.0),
    published(true, false, &[66_000.0], 914.0),
];

impl Published {
    /// Returns the published row of `case`.
    pub fn of(case: &Case) -> Option<&'static Self> {
        let is_known = !case.bql() || case.limit == AnyLimit::dql();
        let is_known = is_known && case.late_segmentation == LateSegmentation::Off;
        let is_it = |row: &&Self| is_known && (row.bql, row.tso) == (case.bql(), case.tso);
        PUBLISHED.iter().find(is_it)
    }
}

/// Compares `rows` with the published results. `rate_constants` were fitted to the rates.
pub fn figures(rows: &[Row], rate_constants: &[&'static str]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for row in rows {
        let Some(Published {
            ring_bytes, rr_tps, ..
        }) = Published::of(&row.case())
        else {
            continue;
        };
        let id = |what| format!("E1/bql_{}/tso_{}/{what}", on_off(row.bql), on_off(row.tso));
        let (bytes_id, bytes) = (id("inflight_bytes_p90"), row.inflight_bytes.p90 as f64);
        let (tps_id, unit) = (id("rr_tps"), "transactions/s");
        figures.extend([
            Figure::new(bytes_id, ring_bytes, bytes, "bytes", &["coalesce"]),
            Figure::new(tps_id, &[*rr_tps], row.rr_tps, unit, rate_constants),
        ]);
    }
    figures
}
