//! The rows of the scenario, and the published results of E7.

use serde_json::Value;

use super::kernel::Kernel;
use crate::on_off::on_off;
use taut_report::document::Figure;

/// A row.
pub struct CodelUnderLoadCase {
    pub(super) kernel: Kernel,
    pub(super) discipline: String,
    pub(super) limited: bool,
    pub(super) ecn: bool,
}

impl CodelUnderLoadCase {
    pub(super) fn signal(&self) -> &'static str {
        if self.ecn { "marks" } else { "drops" }
    }

    pub(super) fn name(&self) -> String {
        let (limit, signal) = (on_off(self.limited), self.signal());
        let of = match self.kernel {
            Kernel::Correct => "",
            Kernel::Of2012 => " of 2012",
        };
        format!("{}{of}, limit {limit}, {signal}", self.discipline)
    }
}

/// Published CoDel results: limit, marks, transactions/s, packets in the discipline. Without the
/// limit, drops and marks had equal results.
const PUBLISHED: [(bool, bool, f64, f64); 4] = [
    (false, false, 94.0, 28.0),
    (false, true, 94.0, 28.0),
    (true, false, 140.0, 113.0),
    (true, true, 749.0, 82.0),
];

/// Constants fitted to the results, the last one only for the reconstruction.
const FITTED: [&str; 8] = [
    "rate",
    "coalesce",
    "descriptors",
    "budget",
    "host_latency",
    "gso_packet",
    "growth_segments",
    "kernel",
];

/// Compares a row with the published CoDel results.
pub(super) fn figures(case: &CodelUnderLoadCase, row: &Value) -> Vec<Figure> {
    let is_it = |it: &&(bool, bool, f64, f64)| (it.0, it.1) == (case.limited, case.ecn);
    let Some((_, _, tps, packets)) = PUBLISHED.iter().find(is_it) else {
        return Vec::new();
    };
    if case.discipline != "codel" {
        return Vec::new();
    }
    let (claim, fitted) = match case.kernel {
        Kernel::Correct => ("prediction", &FITTED[..FITTED.len() - 1]),
        Kernel::Of2012 => ("reconstruction", &FITTED[..]),
    };
    let figure = |what, published, key: &str, unit| {
        let value = row[key].as_f64().unwrap_or(0.0);
        let id = format!("E7, {claim}, {}, {what}", case.name());
        Figure::new(id, &[published], value, unit, fitted)
    };
    let waiting = "waiting_mean_packets";
    vec![
        figure("rate", *tps, "rate_tps", "transactions/s"),
        figure("in the discipline", *packets, waiting, "packets"),
    ]
}
