//! Effect of a thread's pause on a limit: rings, link rates and lengths of the pause.

mod case;
mod settings;
mod summary;

use serde_json::Value;

use crate::prelude::*;

pub use case::{PausesCase, PausesOutcome};
pub use settings::PausesSettings;
pub use taut_sim::single_queue_bench::Rule;

impl Scenario for PausesSettings {
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
