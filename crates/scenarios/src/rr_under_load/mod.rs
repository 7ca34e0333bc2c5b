//! E1: bulk TCP streams saturate a link while one request/response runs at high priority.

mod case;
mod published;
mod row;
mod run;
mod settings;
pub mod show;

use crate::prelude::*;

pub use case::{Case, Only};
pub use published::figures;
pub use row::{Latency, Lateness, Row};
pub use run::Outcome;
pub use settings::Settings;

impl Settings {
    /// Returns the rows of the finished cases, in the format of the lab.
    pub fn rows_of(&self, ran: &[(&Case, &Outcome)]) -> Vec<Row> {
        ran.iter().map(|(_, outcome)| outcome.row.clone()).collect()
    }
}

impl Scenario for Settings {
    type Case = Case;
    type Outcome = Outcome;

    fn cases(&self, _seed: u64) -> Result<Vec<Case>, ScenarioError> {
        Ok(self.rows.cases(&self.limits, &self.late_segmentation))
    }

    fn name(&self, case: &Case) -> String {
        case.to_string()
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Outcome, ScenarioError> {
        self.run_case(case, seed)
    }

    /// Curves are drawn from the outcomes, not from series.
    fn results(&self, ran: &[(&Case, &Outcome)]) -> Results {
        let rows = self.rows_of(ran);
        let value = |row: &Row| serde_json::to_value(row).unwrap_or_default();
        let mut found = Results::default();
        if self.is_published() {
            found.figures = figures(&rows, &["coalesce", "host_latency"]);
        }
        found.rows = rows.iter().map(value).collect();
        found
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let row = |case: Case| {
            let names = (case.to_string(), case.limit.to_string());
            TraceRow::two_hosts(names, self.rate, self.end_ns(), move |probe| {
                self.world(&case, seed, probe)
            })
        };
        self.cases(seed).into_iter().flatten().map(row).collect()
    }
}
