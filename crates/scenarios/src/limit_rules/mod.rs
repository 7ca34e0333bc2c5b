//! Comparison of limit rules on completion traces.

mod compare;
mod row;
mod rule;
pub(crate) mod show;
mod summary;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use crate::pattern::read::{PatternFile, read};
use crate::pattern::{Times, synthetic};
use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};

use compare::NEED;
pub use compare::TraceSource;
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
    fn sources(&self) -> Result<Vec<TraceSource>, ScenarioError> {
        let times = Times {
            warm_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + self.duration.0,
        };
        let named = |name: &String| synthetic().find(|family| family.name == name);
        let named = self.patterns.iter().filter_map(named);
        let named = named.map(|family| Ok(TraceSource::Synthetic(family, times)));
        let files = self.files.iter().map(|path| {
            let file = read_file(path).map_err(|error| of_file(path, error))?;
            Ok(TraceSource::File(Box::new(file)))
        });
        named.chain(files).collect()
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
    let mut found = read(BufReader::new(File::open(path)?), &stem.to_string_lossy())?;
    for warning in &mut found.warnings {
        *warning = format!("{}, {warning}", path.display());
    }
    Ok(found)
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
    type Case = TraceSource;

    fn cases(&self) -> Cases<Self> {
        let sources = self.sources()?.into_iter();
        let named = |source: TraceSource| (source.name().to_owned(), source);
        Ok(sources.map(named).collect())
    }

    fn run(&self, source: &TraceSource, seed: u64) -> Result<Results, ScenarioError> {
        source.run(&self.rules, seed, self.seeds)
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
