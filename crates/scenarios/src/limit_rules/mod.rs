//! Comparison of limit rules on completion traces.

mod compare;
mod overrun;
mod points;
mod row;
mod rule;
mod summary;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::pattern::read::{PatternFile, read};
use crate::pattern::{Times, synthetic};
use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};

pub use compare::{LimitRulesCase, LimitRulesOutcome, NEED};
use compare::{Ran, TraceSource};
pub use rule::RuleName;

const MAX_SEEDS: u32 = 31;

settings! {
    LimitRulesSettings, "limit-rules" {
        /// Synthetic traces by name: the published six (`p..`) and further families (`f..`).
        patterns: Vec<String> where known_names(files),
        /// Completion trace files.
        files: Vec<PathBuf>,
        /// Rules by name; `fixed` is the smallest sufficient fixed limit.
        #[serde(with = "as_texts")]
        rules: Vec<RuleName> => validation::each_once(1..=100, "rule"),
        /// Seeds, counted from that of the run. Files have none.
        seeds: u32 => validation::within(1..=MAX_SEEDS),
        /// Warm-up of a family. The published six have their own times.
        warm_up: Time => validation::within(Time(0)..=MAX_DURATION),
        /// Measured time of a family.
        duration: Time => validation::within(Time::ms(100)..=MAX_DURATION),
    }
}

/// Returns the names of all synthetic traces.
pub fn names() -> impl Iterator<Item = &'static str> {
    synthetic().map(|family| family.name)
}

impl LimitRulesSettings {
    /// Returns each trace with each of its seeds; `warn` is called for unknown keys of the files.
    ///
    /// # Errors
    /// The first file that is not a valid trace, and the line.
    pub fn cases_with(&self, seed: u64, warn: impl FnMut(&str)) -> Cases<Self> {
        let of_source = |source: TraceSource| {
            let source = Arc::new(source);
            let seeds = 0..source.seeds(self.seeds);
            seeds.map(move |number| {
                let case = LimitRulesCase::new(source.clone(), number, seed);
                (source.name().to_owned(), case)
            })
        };
        let sources = self.sources(warn)?.into_iter();
        Ok(sources.flat_map(of_source).collect())
    }

    fn sources(&self, mut warn: impl FnMut(&str)) -> Result<Vec<TraceSource>, ScenarioError> {
        let times = Times {
            warm_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + self.duration.0,
        };
        let named = |name: &String| synthetic().find(|family| family.name == name);
        let named = self.patterns.iter().filter_map(named);
        let named = named.map(|family| TraceSource::Synthetic(family, times));
        let mut sources: Vec<TraceSource> = named.collect();
        for path in &self.files {
            let found = read_file(path).map_err(|error| of_file(path, error))?;
            for key in &found.unknown_keys {
                let path = path.display();
                warn(&format!("{path}, line 1: unknown key {key:?} is ignored"));
            }
            sources.push(TraceSource::File(Box::new(found.pattern)));
        }
        Ok(sources)
    }
}

/// Requires known trace names; the list can be empty only if there are `files`.
fn known_names(files: &[PathBuf]) -> impl Fn(&str, &[String]) -> Validation {
    move |key, patterns| {
        if patterns.is_empty() && files.is_empty() {
            return Err(format!(
                "{key} and files are both empty; give at least one of them"
            ));
        }
        let Some(name) = patterns.iter().find(|it| !names().any(|name| name == *it)) else {
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
    let stem = path.file_stem().unwrap_or(path.as_os_str());
    read(BufReader::new(File::open(path)?), &stem.to_string_lossy())
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

    fn cases(&self, seed: u64) -> Cases<Self> {
        self.cases_with(seed, |_| {})
    }

    fn run(&self, case: &LimitRulesCase, _seed: u64) -> Result<LimitRulesOutcome, ScenarioError> {
        case.run(&self.rules)
    }

    /// Returns the results of each trace all of whose seeds have been run.
    fn results(&self, ran: &[(&LimitRulesCase, &LimitRulesOutcome)]) -> Results {
        let same_source =
            |one: &Ran<'_>, next: &Ran<'_>| Arc::ptr_eq(&one.0.source, &next.0.source);
        let mut found = Results::default();
        for seeds in ran.chunk_by(same_source) {
            if seeds.len() == seeds[0].0.source.seeds(self.seeds) as usize {
                compare::push(&mut found, &self.rules, seeds);
            }
        }
        found
    }

    fn summary(rows: &[serde_json::Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
