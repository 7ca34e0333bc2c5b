//! Every combination of the values of some settings, and runs that need not be run again.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use crate::error::ScenarioError;
use crate::registry::prepare;
use crate::run::SharedRun;
use crate::setting;
use taut_report::document::Document;

/// A setting, or `seed`, and the values that it takes; spelled `KEY=A,B,...`. A value with a comma is put
/// into quotes, and a list into brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The setting.
    pub key: String,
    /// Its values, as [`setting::with`] takes them.
    pub values: Vec<String>,
}

impl FromStr for Swept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text
            .split_once('=')
            .ok_or("there is no \"=\"; allowed: KEY=A,B,...")?;
        let values = split(values);
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err("a key or a value is empty; allowed: KEY=A,B,...".to_owned());
        }
        Ok(Self {
            key: key.to_owned(),
            values,
        })
    }
}

/// At each comma that stands in no brackets and no quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_i32, false);
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            ',' if !quoted && depth <= 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts
}

/// One combination: each key with its value.
type Point<'a> = Vec<(&'a str, &'a str)>;

/// A run that is there twice would be in the table twice, and count twice in every mean.
fn said_once(sweeps: &[Swept]) -> Result<(), String> {
    let mut keys = HashSet::new();
    for Swept { key, values } in sweeps {
        if !keys.insert(key) {
            return Err(format!("{key} is swept twice; say all its values at once"));
        }
        let mut seen = HashSet::new();
        if let Some(value) = values.iter().find(|value| !seen.insert(*value)) {
            return Err(format!("{key} has {value} twice; say each value once"));
        }
    }
    Ok(())
}

/// Every combination, the values of the last key next to each other.
fn grid(sweeps: &[Swept]) -> Vec<Point<'_>> {
    let mut points = vec![Point::new()];
    for sweep in sweeps {
        let mut longer = Vec::new();
        for point in &points {
            for value in &sweep.values {
                longer.push([point.clone(), vec![(&*sweep.key, &**value)]].concat());
            }
        }
        points = longer;
    }
    points
}

/// A combination, its run, and its rows if it was finished elsewhere.
struct Planned {
    point: Vec<(String, String)>,
    file: String,
    seed: u64,
    run: SharedRun,
    finished: Option<Vec<Value>>,
}

impl Planned {
    fn new(file: &str, seed: u64, point: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let (seeds, changes): (Point, Point) = point.iter().partition(|(key, _)| *key == "seed");
        let seed = match seeds.last() {
            None => seed,
            Some((_, text)) => text.parse().map_err(|_| {
                let most = u64::MAX;
                ScenarioError::Setting(format!("seed is {text:?}; allowed: 0 to {most}"))
            })?,
        };
        let file = if changes.is_empty() {
            file.to_owned()
        } else {
            setting::with(file, &changes)?
        };
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        Ok(Self {
            run: prepare(&file, Some(seed))?,
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

    /// The row, behind the values that it was run with.
    fn named(&self, row: Value) -> Value {
        let mut named = Map::new();
        if !self.point.is_empty() {
            let values = self.point.iter();
            let values = values.map(|(key, value)| (key.clone(), Value::from(value.as_str())));
            named.insert("sweep".to_owned(), Value::Object(values.collect()));
        }
        if let Value::Object(row) = row {
            named.extend(row);
        }
        Value::Object(named)
    }
}

/// A scenario file with every combination of the values of some settings: a run for each. Who runs
/// them, where, and in what order, changes nothing.
///
/// ```
/// use taut_scenarios::run::run_all;
/// use taut_scenarios::sweep::{Plan, finished_line};
///
/// let file = "scenario = \"rate-change\"\nphase = \"10ms\"";
/// let swept = ["ring=64,128".parse().unwrap()];
/// let mut here = Plan::new(file, 1, &swept)?;
/// run_all(&here.left(), 2, &mut |_, _, _| (), &mut |_| ())?;
/// // The same somewhere else, of which only lines come back, in any order.
/// let mut there = Plan::new(file, 1, &swept)?;
/// for part in there.parts().rev() {
///     let run = part.run.clone();
///     run_all(&[run.clone()], 1, &mut |_, _, _| (), &mut |_| ())?;
///     here.take(&finished_line(&run.document())).unwrap();
/// }
/// assert_eq!(here.document(false).json_lines(), there.document(false).json_lines());
/// # Ok::<(), taut_scenarios::error::ScenarioError>(())
/// ```
pub struct Plan {
    base: SharedRun,
    swept: Vec<Swept>,
    planned: Vec<Planned>,
    /// The runs of each [`key`], as indices.
    by_key: HashMap<Value, Vec<usize>>,
}

/// A run of a [`Plan`] as it can be given to somebody else: file and seed are all that it needs.
pub struct Part<'a> {
    /// The scenario file, with the values of the combination in it.
    pub file: &'a str,
    /// The seed.
    pub seed: u64,
    /// The run that they make.
    pub run: &'a SharedRun,
    /// Whether its rows were [taken](Plan::take).
    pub is_finished: bool,
}

impl Plan {
    /// Every combination of `swept`, of which nothing has been run; a single run if there is none.
    ///
    /// # Errors
    /// If the file is not understood, a setting is unknown or cannot be, or anything is said twice.
    pub fn new(file: &str, seed: u64, swept: &[Swept]) -> Result<Self, ScenarioError> {
        said_once(swept).map_err(ScenarioError::Setting)?;
        let points = grid(swept);
        let planned = points.iter().map(|point| Planned::new(file, seed, point));
        let planned: Vec<_> = planned.collect::<Result<_, _>>()?;
        let mut by_key = HashMap::<_, Vec<usize>>::new();
        for (at, it) in planned.iter().enumerate() {
            by_key.entry(key(&it.run.document())).or_default().push(at);
        }
        Ok(Self {
            base: prepare(file, Some(seed))?,
            planned,
            by_key,
            swept: swept.to_vec(),
        })
    }

    /// Every run, in the order of the rows.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = Part<'_>> + ExactSizeIterator {
        self.planned.iter().map(|it| Part {
            file: &it.file,
            seed: it.seed,
            run: &it.run,
            is_finished: it.finished.is_some(),
        })
    }

    /// The runs whose rows were not [taken](Self::take).
    pub fn left(&self) -> Vec<SharedRun> {
        let left = self.parts().filter(|part| !part.is_finished);
        left.map(|part| part.run.clone()).collect()
    }

    /// Takes the rows of a run that was finished somewhere else, from its [`finished_line`], and says
    /// whether the run is one of these: another version of this crate is another run.
    ///
    /// # Errors
    /// Says why the line is no finished run.
    pub fn take(&mut self, line: &str) -> Result<bool, String> {
        let entry: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let (Some(run), Some(rows)) = (entry.get("run"), entry["rows"].as_array()) else {
            return Err("it is no finished run".to_owned());
        };
        let those = self.by_key.get(run).map_or(&[][..], Vec::as_slice);
        for &at in those {
            self.planned[at].finished = Some(rows.clone());
        }
        Ok(!those.is_empty())
    }

    /// The rows of all that was finished, here or elsewhere, in one document.
    pub fn document(&self, interrupted: bool) -> Document {
        let mut document = self.base.document();
        if let Value::Object(parameters) = &mut document.parameters {
            let sweeps = self.swept.iter();
            let sweeps = sweeps.map(|it| (it.key.clone(), it.values.clone().into()));
            parameters.insert("sweep".to_owned(), Value::Object(sweeps.collect()));
        }
        Document {
            interrupted,
            rows: self.planned.iter().flat_map(Planned::rows).collect(),
            figures: Vec::new(),
            series: Vec::new(),
            summary: None,
            ..document
        }
    }
}

/// What a run found, on one line: for a [`Book`], or for a [`Plan`] of somebody else.
pub fn finished_line(document: &Document) -> String {
    json!({"run": key(document), "rows": document.rows}).to_string()
}

/// What makes a run what it is: another version may find something else.
fn key(document: &Document) -> Value {
    json!({
        "scenario": document.scenario,
        "taut_version": document.taut_version,
        "seed": document.seed,
        "parameters": document.parameters,
    })
}

/// A line of a [`Book`] that is longer is no finished run: ten thousand rows are 10 MB.
const MOST_LINE_BYTES: u64 = 1 << 26;

/// A file of finished runs, a [`finished_line`] each, for one sweep at a time: of two that use it at once each does
/// all the work.
#[derive(Debug)]
pub struct Book(File);

impl Book {
    /// Opens the file, which need not be there, and gives the runs of `plan` their rows that are in it.
    ///
    /// # Errors
    /// If it cannot be read, or a line of it is no finished run; says which.
    pub fn open(path: &Path, plan: &mut Plan) -> io::Result<Self> {
        let mut file = OpenOptions::new();
        let file = file.read(true).append(true).create(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(
                "it is no regular file, and would keep nothing",
            ));
        }
        let mut whole_bytes = 0;
        let mut lines = BufReader::new(&file);
        for number in 1_u64.. {
            let wrong = |why: String| io::Error::other(format!("line {number}: {why}"));
            let mut line = String::new();
            let mut limited = lines.by_ref().take(MOST_LINE_BYTES);
            let bytes = limited.read_line(&mut line)? as u64;
            if line.ends_with('\n') {
                plan.take(line.trim_end()).map_err(wrong)?;
                whole_bytes += bytes;
            } else if bytes == MOST_LINE_BYTES {
                return Err(wrong(format!("longer than {MOST_LINE_BYTES} bytes")));
            } else {
                if bytes > 0 {
                    // It was being written when the process ended.
                    file.set_len(whole_bytes)?;
                }
                break;
            }
        }
        Ok(Self(file))
    }

    /// Keeps a [`finished_line`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_another_run_or_no_run(text in "\\PC{0,80}|\\{\"run\": \\{.{0,20}\\}, \"rows\": \\[.{0,20}\\]\\}") {
            let mut plan = Plan::new("scenario = \"rate-change\"", 1, &[]).unwrap();
            prop_assert_ne!(plan.take(&text), Ok(true));
        }

        #[test]
        fn a_number_that_was_kept_is_shown_as_it_was_found(found in any::<f64>()) {
            let shown = Value::from(found).to_string();
            let kept: Value = serde_json::from_str(&shown).unwrap();
            prop_assert_eq!(kept.to_string(), shown);
        }
    }

    #[test]
    fn values_are_split_where_no_bracket_and_no_quote_is_open() {
        assert_eq!(split("1,20us,x"), ["1", "20us", "x"]);
        assert_eq!(split("[1,2],[3]"), ["[1,2]", "[3]"]);
        assert_eq!(split("\"a,b\",c"), ["\"a,b\"", "c"]);
        assert_eq!(split("[[1,2],3]"), ["[[1,2],3]"]);
        assert!("ring".parse::<Swept>().is_err());
        assert!("=1".parse::<Swept>().is_err());
        assert!("ring=1,,2".parse::<Swept>().is_err());
    }

    #[test]
    fn a_grid_has_every_combination_once_and_no_sweep_is_one_run() {
        let sweeps: Vec<Swept> = ["a=1,2", "b=x,y,z"].map(|it| it.parse().unwrap()).into();
        let points = grid(&sweeps);
        assert_eq!(points.len(), 6);
        assert_eq!(points[0], [("a", "1"), ("b", "x")]);
        assert_eq!(points[1], [("a", "1"), ("b", "y")]);
        assert_eq!(points[5], [("a", "2"), ("b", "z")]);
        assert_eq!(grid(&[]), [Point::new()]);
    }

    #[test]
    fn what_would_be_run_twice_is_refused() {
        let file = "scenario = \"rate-change\"";
        for (swept, says) in [
            (&["ring=64,128,64"][..], "ring has 64 twice"),
            (&["ring=64", "ring=128"], "ring is swept twice"),
        ] {
            let swept: Vec<Swept> = swept.iter().map(|it| it.parse().unwrap()).collect();
            let error = Plan::new(file, 1, &swept)
                .err()
                .map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|it| it.contains(says)),
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_line_of_another_run_is_not_taken_and_what_is_no_line_is_refused() {
        let file = "scenario = \"rate-change\"";
        let mut plan = Plan::new(file, 1, &[]).unwrap();
        let other = Plan::new(file, 2, &[]).unwrap();
        let line = finished_line(&other.base.document());
        assert_eq!(plan.take(&line), Ok(false));
        assert_eq!(plan.left().len(), 1);
        assert_eq!(plan.take(&finished_line(&plan.base.document())), Ok(true));
        assert_eq!(plan.left().len(), 0);
        for line in ["", "{}", "[1]", "{\"run\": {}}"] {
            assert!(plan.take(line).is_err(), "{line}");
        }
    }
}
