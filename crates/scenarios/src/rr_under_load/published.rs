//! Published results of E1.

use taut_path::{AnyLimit, LateSegmentation};

use super::{Case, Row};
use crate::on_off::on_off;
use taut_report::document::Figure;

/// The published row of one case: bytes in the device queue and transactions/s.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// Whether the queue was limited by Linux's rule, then the only one.
    pub bql: bool,
    /// Whether the senders used GSO packets.
    pub tso: bool,
    /// Bytes in the device queue, from and to.
    pub ring_bytes: [u64; 2],
    /// Transactions/s.
    pub rr_tps: u64,
}

/// E1 in `docs/sources.md`: 100 bulk streams and one
/// request/response at high priority on 1 Gbit/s, e1000, ring 1024, pfifo_fast.
const PUBLISHED: [Published; 4] = [
    Published {
        bql: false,
        tso: true,
        ring_bytes: [3_000_000, 3_200_000],
        rr_tps: 36,
    },
    Published {
        bql: true,
        tso: true,
        ring_bytes: [156_000, 194_000],
        rr_tps: 535,
    },
    Published {
        bql: false,
        tso: false,
        ring_bytes: [453_000, 454_000],
        rr_tps: 234,
    },
    Published {
        bql: true,
        tso: false,
        ring_bytes: [66_000, 66_000],
        rr_tps: 914,
    },
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

/// Returns `true` for the settings of the published experiment.
pub const fn is_published(streams: u32, rate_bits_per_s: u64, ring_slots: u32) -> bool {
    streams == 100 && rate_bits_per_s == 1_000_000_000 && ring_slots == 1024
}

/// Compares `rows` with the published results. Constants that were fitted to the bytes or to the
/// rates are listed with them.
pub fn figures(
    rows: &[Row],
    bytes_constants: &[&'static str],
    rate_constants: &[&'static str],
) -> Vec<Figure> {
    let with_published = rows
        .iter()
        .filter_map(|row| Some((row, Published::of(&row.case())?)));
    with_published
        .flat_map(|(row, published)| figures_of(row, published, bytes_constants, rate_constants))
        .collect()
}

fn figures_of(
    row: &Row,
    published: &Published,
    bytes_constants: &[&'static str],
    rate_constants: &[&'static str],
) -> [Figure; 2] {
    let case = format!("bql_{}/tso_{}", on_off(row.bql), on_off(row.tso));
    let [low, high] = published.ring_bytes;
    let bytes = if low == high {
        vec![low as f64]
    } else {
        vec![low as f64, high as f64]
    };
    let tps = [published.rr_tps as f64];
    let value = row.inflight_bytes.p90 as f64;
    [
        Figure::new(
            format!("E1/{case}/inflight_bytes_p90"),
            &bytes,
            value,
            "bytes",
            bytes_constants,
        ),
        Figure::new(
            format!("E1/{case}/rr_tps"),
            &tps,
            row.rr_tps,
            "transactions/s",
            rate_constants,
        ),
    ]
}
