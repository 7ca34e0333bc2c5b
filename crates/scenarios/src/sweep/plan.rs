//! A run for each combination of swept settings.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::swept::{Point, SWEEP, Swept, grid, of_file, reject_duplicates};
use crate::error::ScenarioError;
use crate::registry::prepare_one;
use crate::run::{AnyRun, RunCase, SharedRun};
use crate::setting;
use crate::trace_row::TraceRow;
use taut_report::document::Document;

/// A run of a [`Plan`]: another process needs only the file and the seed.
pub struct Part {
    /// The values of the combination.
    point: Vec<(String, String)>,
    /// The scenario file with these values.
    pub file: String,
    /// The seed.
    pub seed: u64,
    /// The run of file and seed.
    pub run: SharedRun,
    /// The rows that were added by [`take`](Plan::take).
    finished: Option<Vec<Value>>,
}

impl Part {
    fn new(file: &str, seed: u64, point: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let (seeds, changes): (Point, Point) = point.iter().partition(|(key, _)| *key == "seed");
        let seed = match seeds.last() {
            None => seed,
            Some((_, text)) => text.parse().map_err(|_| {
                let max = u64::MAX;
                ScenarioError::Setting(format!("seed is {text:?}; allowed: 0 to {max}"))
            })?,
        };
        let file = if changes.is_empty() {
            file.to_owned()
        } else {
            setting::with(file, &changes)?
        };
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        Ok(Self {
            run: prepare_one(&file, seed)?,
            point: point.iter().map(owned).collect(),
            file,
            seed,
            finished: None,
        })
    }

    fn rows(&self) -> Vec<Value> {
        let rows = self.finished.clone();
        let rows = rows.unwrap_or_else(|| self.run.document().rows);
        rows.into_iter().map(|row| self.named(row)).collect()
    }

    /// Returns the row with the values of its combination in front.
    fn named(&self, row: Value) -> Value {
        let mut named = Map::new();
        if !self.point.is_empty() {
            let values = self.point.iter();
            let values = values.map(|(key, value)| (key.clone(), Value::from(value.as_str())));
            named.insert(SWEEP.to_owned(), Value::Object(values.collect()));
        }
        if let Value::Object(row) = row {
            named.extend(row);
        }
        Value::Object(named)
    }
}

/// A scenario file with every combination of the values of swept settings: a run for each. Where
/// the runs are run, and in which order, changes nothing.
///
/// ```
/// use taut_scenarios::run::{AnyRun, run_all};
/// use taut_scenarios::sweep::{Plan, finished_line};
///
/// let file = "scenario = \"rate-change\"\nduration = \"30ms\"";
/// let swept = ["ring=64,128".parse().unwrap()];
/// let mut here = Plan::new(file, 1, &swept)?;
/// let left: Vec<_> = here.left().map(|part| part.run.clone()).collect();
/// run_all(&left, 2, &mut |_, _, _| (), &mut |_| ())?;
/// // The same somewhere else, of which only lines come back, in any order.
/// let mut there = Plan::new(file, 1, &swept)?;
/// for part in there.parts().iter().rev() {
///     let run = part.run.clone();
///     run_all(&[run.clone()], 1, &mut |_, _, _| (), &mut |_| ())?;
///     here.take(&finished_line(&run.document())).unwrap();
/// }
/// assert_eq!(here.document().json_lines(), there.document().json_lines());
/// # Ok::<(), taut_scenarios::error::ScenarioError>(())
/// ```
pub struct Plan {
    base: SharedRun,
    swept: Vec<Swept>,
    parts: Vec<Part>,
    /// The indices of the runs with each [`key`].
    by_key: HashMap<Value, Vec<usize>>,
}

impl Plan {
    /// Creates a run for every combination of `swept` and of the file's sweep; a single run if
    /// there is none. The values of `swept` replace those of the file.
    ///
    /// # Errors
    /// If the file cannot be parsed, a setting is unknown or invalid, or a setting or value occurs
    /// twice.
    pub fn new(file: &str, seed: u64, swept: &[Swept]) -> Result<Self, ScenarioError> {
        let (file, mut all_swept) = of_file(file)?;
        all_swept.retain(|of_file| swept.iter().all(|it| it.key != of_file.key));
        all_swept.extend_from_slice(swept);
        reject_duplicates(&all_swept).map_err(ScenarioError::Setting)?;
        let points = grid(&all_swept);
        let parts = points.iter().map(|point| Part::new(&file, seed, point));
        let parts: Vec<_> = parts.collect::<Result<_, _>>()?;
        let mut by_key = HashMap::<_, Vec<usize>>::new();
        for (at, it) in parts.iter().enumerate() {
            by_key.entry(key(&it.run.document())).or_default().push(at);
        }
        Ok(Self {
            base: prepare_one(&file, seed)?,
            parts,
            by_key,
            swept: all_swept,
        })
    }

    /// Returns every run, in the order of the rows.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the runs without rows from [`take`](Self::take).
    pub fn left(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.finished.is_none())
    }

    /// Adds the rows of a [`finished_line`] of another process. Returns `true` if it is one of
    /// these runs; a run of another version of this crate is not.
    ///
    /// # Errors
    /// A message if the line is not a finished run.
    pub fn take(&mut self, line: &str) -> Result<bool, String> {
        let entry: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let (Some(run), Some(rows)) = (entry.get("run"), entry["rows"].as_array()) else {
            return Err("not a finished run".to_owned());
        };
        let those = self.by_key.get(run).map_or(&[][..], Vec::as_slice);
        for &at in those {
            self.parts[at].finished = Some(rows.clone());
        }
        Ok(!those.is_empty())
    }
}

impl AnyRun for Plan {
    fn cases(&self) -> Vec<RunCase<'_>> {
        self.parts.iter().flat_map(|it| it.run.cases()).collect()
    }

    /// Returns the rows of all finished runs, including those of other processes.
    fn document(&self) -> Document {
        let mut document = self.base.document();
        if let Value::Object(parameters) = &mut document.parameters {
            let sweeps = self.swept.iter();
            let sweeps = sweeps.map(|it| (it.key.clone(), it.values.clone().into()));
            parameters.insert(SWEEP.to_owned(), Value::Object(sweeps.collect()));
        }
        Document {
            rows: self.parts.iter().flat_map(Part::rows).collect(),
            figures: Vec::new(),
            series: Vec::new(),
            summary: None,
            ..document
        }
    }

    /// Returns the rows of the file without its sweep.
    fn traces(&self) -> Vec<TraceRow<'_>> {
        self.base.traces()
    }
}

/// Returns the rows of a run on one line, for a [`Book`](super::Book) or for the [`Plan`] of
/// another process.
pub fn finished_line(document: &Document) -> String {
    json!({"run": key(document), "rows": document.rows}).to_string()
}

/// Returns the identity of a run; it includes the version, which affects the results.
fn key(document: &Document) -> Value {
    json!({
        "scenario": document.scenario,
        "taut_version": document.taut_version,
        "seed": document.seed,
        "parameters": document.parameters,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_line_is_handled(
            text in "\\PC{0,80}|\\{\"run\": \\{.{0,20}\\}, \"rows\": \\[.{0,20}\\]\\}",
        ) {
            let mut plan = Plan::new("scenario = \"rate-change\"", 1, &[]).unwrap();
            prop_assert_ne!(plan.take(&text), Ok(true));
        }

        #[test]
        fn stored_numbers_are_unchanged(found in any::<f64>()) {
            let shown = Value::from(found).to_string();
            let kept: Value = serde_json::from_str(&shown).unwrap();
            prop_assert_eq!(kept.to_string(), shown);
        }
    }

    #[test]
    fn duplicate_runs_are_rejected() {
        let file = "scenario = \"rate-change\"";
        for (swept, message) in [
            (&["ring=64,128,64"][..], "ring has 64 twice"),
            (&["ring=64", "ring=128"], "ring is swept twice"),
        ] {
            let swept: Vec<Swept> = swept.iter().map(|it| it.parse().unwrap()).collect();
            let error = Plan::new(file, 1, &swept)
                .err()
                .map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|it| it.contains(message)),
                "{error:?}"
            );
        }
    }

    #[test]
    fn other_runs_and_invalid_lines_are_rejected() {
        let file = "scenario = \"rate-change\"";
        let mut plan = Plan::new(file, 1, &[]).unwrap();
        let other = Plan::new(file, 2, &[]).unwrap();
        let line = finished_line(&other.base.document());
        assert_eq!(plan.take(&line), Ok(false));
        assert_eq!(plan.left().count(), 1);
        assert_eq!(plan.take(&finished_line(&plan.base.document())), Ok(true));
        assert_eq!(plan.left().count(), 0);
        for line in ["", "{}", "[1]", "{\"run\": {}}"] {
            assert!(plan.take(line).is_err(), "{line}");
        }
    }
}
