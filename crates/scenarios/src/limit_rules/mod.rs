//! Comparison of limit rules on completion traces and loads.

mod compare;
mod overrun;
mod points;
mod row;
mod rule;
mod show;
mod source;
mod summary;
mod tcp_load;
mod workload;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::pattern::families::Times;
use crate::pattern::read::{PatternFile, read};
use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};

pub use compare::{Compared, LimitRulesCase, LimitRulesOutcome};
pub use row::{Interval95, LimitRow};
pub use rule::RuleName;
pub use show::NEED;
use source::find;
pub use source::{WorkloadSource, names};

const MAX_SEEDS: u32 = 31;

settings! {
    LimitRulesSettings, "limit-rules" {
        /// Synthetic traces by name: the published six (`p..`), further families (`f..`), and a
        /// load in the world of two hosts (`w..`).
        patterns: Vec<String> where known_names(files),
        /// Completion trace files.
        files: Vec<PathBuf>,
        /// Rules by name; `fixed` is the smallest sufficient fixed limit.
        #[serde(with = "as_texts")]
        rules: Vec<RuleName> => validation::each_once(1..=100, "rule"),
        /// Seeds, counted from that of the run. Files have none.
        seeds: u32 => validation::within(1..=MAX_SEEDS),
        /// Warm-up of a family or a load. The published six have their own times.
        warm_up: Time => validation::within(Time(0)..=MAX_DURATION),
        /// Measured time of a family or a load.
        duration: Time => validation::within(Time::ms(100)..=MAX_DURATION),
    }
}

impl LimitRulesSettings {
    /// Returns the workloads; `warn` is called for unknown keys of the files.
    ///
    /// # Errors
    /// The first file that is not a valid trace, and the line.
    pub fn subjects(
        &self,
        mut warn: impl FnMut(&str),
    ) -> Result<Vec<WorkloadSource>, ScenarioError> {
        let times = Times {
            warm_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + self.duration.0,
        };
        let named = self.patterns.iter().filter_map(|name| find(name));
        let mut subjects: Vec<WorkloadSource> = named
            .map(|name| WorkloadSource::named(name, times))
            .collect();
        for path in &self.files {
            let found = read_file(path).map_err(|error| of_file(path, error))?;
            for key in &found.unknown_keys {
                warn(&format!(
                    "{}, line 1: unknown key {key:?} is ignored",
                    path.display()
                ));
            }
            subjects.push(WorkloadSource::File(Box::new(found.pattern)));
        }
        Ok(subjects)
    }

    /// Returns each of `subjects` with each of its seeds.
    pub fn cases_of(&self, subjects: Vec<WorkloadSource>, seed: u64) -> Vec<LimitRulesCase> {
        let of_subject = |subject: WorkloadSource| {
            let subject = Arc::new(subject);
            let seeds = 0..subject.seeds(self.seeds);
            seeds.map(move |number| LimitRulesCase::new(subject.clone(), number, seed))
        };
        subjects.into_iter().flat_map(of_subject).collect()
    }

    /// Returns the results of each workload all of whose seeds have been run.
    pub fn compared(&self, ran: &[(&LimitRulesCase, &LimitRulesOutcome)]) -> Vec<Compared> {
        let same_subject =
            |one: &(&LimitRulesCase, &LimitRulesOutcome),
             next: &(&LimitRulesCase, &LimitRulesOutcome)| {
                Arc::ptr_eq(&one.0.subject, &next.0.subject)
            };
        let subjects = ran.chunk_by(same_subject);
        let whole = subjects.filter(|ran| ran.len() == ran[0].0.subject.seeds(self.seeds) as usize);
        whole.map(|ran| Compared::new(&self.rules, ran)).collect()
    }
}

fn value(row: &LimitRow) -> serde_json::Value {
    serde_json::to_value(row).unwrap_or_default()
}

/// Requires known trace names; the list can be empty only if there are `files`.
fn known_names(files: &[PathBuf]) -> impl Fn(&str, &[String]) -> Validation {
    move |key, patterns| {
        if patterns.is_empty() && files.is_empty() {
            return Err(format!(
                "{key} and files are both empty; give at least one of them"
            ));
        }
        let Some(name) = patterns.iter().find(|name| find(name).is_none()) else {
            return Ok(());
        };
        let names: Vec<&str> = names().collect();
        Err(format!(
            "no pattern {name:?}; there are: {}",
            names.join(", ")
        ))
    }
}

fn read_file(path: &Path) -> Result<PatternFile, ScenarioError> {
    let open = || {
        let file = File::open(path)?;
        match file.metadata()?.is_dir() {
            true => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            false => Ok(file),
        }
    };
    let file = open().map_err(ScenarioError::Io)?;
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    read(BufReader::new(file), &stem.to_string_lossy())
}

fn of_file(path: &Path, error: ScenarioError) -> ScenarioError {
    let path = path.display();
    match error {
        ScenarioError::Io(error) => {
            let message = format!("cannot read {path}: {error}");
            ScenarioError::Io(io::Error::new(error.kind(), message))
        }
        error => ScenarioError::Setting(format!("{path}, {error}")),
    }
}

impl Scenario for LimitRulesSettings {
    type Case = LimitRulesCase;
    type Outcome = LimitRulesOutcome;

    fn cases(&self, seed: u64) -> Result<Vec<LimitRulesCase>, ScenarioError> {
        Ok(self.cases_of(self.subjects(|_| {})?, seed))
    }

    fn name(&self, case: &LimitRulesCase) -> String {
        case.subject.name().to_owned()
    }

    fn run(&self, case: &LimitRulesCase, _seed: u64) -> Result<LimitRulesOutcome, ScenarioError> {
        case.run(&self.rules)
    }

    fn results(&self, ran: &[(&LimitRulesCase, &LimitRulesOutcome)]) -> Results {
        let compared = self.compared(ran);
        let rows = compared.iter().flat_map(|it| &it.rows);
        Results {
            rows: rows.map(value).collect(),
            series: compared.iter().flat_map(Compared::series).collect(),
            ..Results::default()
        }
    }

    fn summary(rows: &[serde_json::Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
