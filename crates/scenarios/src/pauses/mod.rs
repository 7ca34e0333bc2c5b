//! Effect of a thread's pause on a limit: rings, link rates and lengths of the pause.

mod case;
mod settings;
mod summary;

use serde_json::Value;

use crate::prelude::*;
use taut_sim::pause_bench::observe;

pub use case::PausesCase;
pub use settings::PausesSettings;

impl Scenario for PausesSettings {
    type Case = PausesCase;
    type Outcome = Results;

    fn cases(&self, _seed: u64) -> Result<Vec<PausesCase>, ScenarioError> {
        Ok(self.all_cases())
    }

    fn name(&self, case: &PausesCase) -> String {
        format!("{}, ring {}, {}", case.rule, case.ring, case.rate)
    }

    /// Returns a row for each pause, compared with the same run without one.
    fn run(&self, case: &PausesCase, seed: u64) -> Result<Results, ScenarioError> {
        let whole = observe(&self.bench(case, None, seed), &case.rule)?;
        let mut found = Results::default();
        for pause in &case.pauses {
            let report = observe(&self.bench(case, Some(*pause), seed), &case.rule)?;
            found.rows.push(self.row(case, pause, &report, &whole));
        }
        Ok(found)
    }

    fn results(&self, ran: &[(&PausesCase, &Results)]) -> Results {
        Results::of(ran)
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
