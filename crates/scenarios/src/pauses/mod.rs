//! Effect of a thread's pause on a limit: rings, link rates and lengths of the pause.

mod case;
mod paused;
mod settings;
mod summary;

use serde_json::Value;

use crate::prelude::*;

pub use case::{PausesCase, PausesOutcome};
pub use paused::PausedName;
pub use settings::PausesSettings;
pub use taut_sim::single_queue_bench::Rule;

impl Scenario for PausesSettings {
    const ABOUT: &'static str = "effect of a pause of the sender or of its thread on a limit";
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        (
            "ratio_0.1s, ratio_1s, ratio_10s",
            "the limit at these times after the end of the first pause over limit_before, the \
             limit at its start",
        ),
        (
            "mean_ratio",
            "mean amount in flight from the start of the first pause on, over the same time \
             without a pause",
        ),
        (
            "held_peak",
            "the largest amount in flight from the first pause on, in the unit of the limit",
        ),
        (
            "limit_peak_of_ring",
            "the largest limit from the first pause on, over what a full ring holds",
        ),
        (
            "ring_stops",
            "stops of the queue for a full ring, from the first pause on; ring_stops_added: over \
             those of the run without a pause",
        ),
        (
            "busy",
            "share of the time from the first pause on in which the link was busy",
        ),
    ];

    type Case = PausesCase;
    type Outcome = PausesOutcome;

    fn cases(&self, _seed: u64) -> Result<Vec<PausesCase>, ScenarioError> {
        Ok(self.all_cases())
    }

    fn name(&self, case: &PausesCase) -> String {
        case.to_string()
    }

    fn run(&self, case: &PausesCase, seed: u64) -> Result<PausesOutcome, ScenarioError> {
        self.run_case(case, seed)
    }

    fn results(&self, ran: &[(&PausesCase, &PausesOutcome)]) -> Results {
        let rows = ran.iter().flat_map(|(_, rows)| rows.iter());
        Results {
            rows: rows.cloned().collect(),
            ..Results::default()
        }
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
