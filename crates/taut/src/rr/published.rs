//! What was published of this experiment, to stand beside what was found.

use taut_sim::results::Figure;

use super::experiment::Case;
use super::results::{Parameters, Row};

/// The published row of one case: bytes in the device queue and transactions/s.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    pub case: Case,
    pub ring_bytes: [u64; 2],
    pub rr_tps: u64,
}

/// Byte Queue Limits, Tom Herbert, Linux Plumbers Conference 2012: 100 bulk streams and one
/// request/response at high priority on 1 Gbit/s, e1000, ring 1024, pfifo_fast.
const PUBLISHED: [Published; 4] = [
    Published {
        case: Case {
            bql: false,
            tso: true,
        },
        ring_bytes: [3_000_000, 3_200_000],
        rr_tps: 36,
    },
    Published {
        case: Case {
            bql: true,
            tso: true,
        },
        ring_bytes: [156_000, 194_000],
        rr_tps: 535,
    },
    Published {
        case: Case {
            bql: false,
            tso: false,
        },
        ring_bytes: [453_000, 454_000],
        rr_tps: 234,
    },
    Published {
        case: Case {
            bql: true,
            tso: false,
        },
        ring_bytes: [66_000, 66_000],
        rr_tps: 914,
    },
];

/// The published row, if `parameters` are those of the published experiment at all.
pub fn published(parameters: &Parameters, case: Case) -> Option<&'static Published> {
    let same = parameters.driver != "af_packet"
        && parameters.rate_bits_per_s == 1_000_000_000
        && parameters.ring_slots == 1024
        && parameters.streams == 100;
    PUBLISHED.iter().find(|row| same && row.case == case)
}

/// All published figures that `rows` answer.
pub fn figures(parameters: &Parameters, rows: &[Row]) -> Vec<Figure> {
    rows.iter()
        .filter_map(|row| published(parameters, row.case()).map(|published| (row, published)))
        .flat_map(|(row, published)| figures_of(parameters, row, published))
        .collect()
}

fn figures_of(parameters: &Parameters, row: &Row, published: &Published) -> [Figure; 2] {
    let on_off = |on| if on { "on" } else { "off" };
    let case = format!("bql_{}/tso_{}", on_off(row.bql), on_off(row.tso));
    let [low, high] = published.ring_bytes;
    let bytes = if low == high {
        vec![low as f64]
    } else {
        vec![low as f64, high as f64]
    };
    [
        Figure {
            id: format!("E1/{case}/inflight_bytes_p90"),
            published: bytes,
            value: row.inflight_bytes.p90 as f64,
            unit: "bytes",
            constants: vec!["cadence"],
        },
        Figure {
            id: format!("E1/{case}/rr_tps"),
            published: vec![published.rr_tps as f64],
            value: row.rr_tps,
            unit: "transactions/s",
            // In virtual time, the hosts' own time for a transaction is chosen too.
            constants: match parameters.driver {
                "simulated" => vec!["cadence", "hosts"],
                _ => vec!["cadence"],
            },
        },
    ]
}
