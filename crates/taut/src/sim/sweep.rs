//! Every combination of the values of some settings, and runs that need not be run again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use clap::Args;
use serde_json::{Map, Value, json};
use taut_scenarios::error::ScenarioError;
use taut_scenarios::registry::prepare;
use taut_scenarios::results::Document;
use taut_scenarios::run::{AnyRun, all_cores};
use taut_scenarios::setting;

use super::output::Output;
use crate::output::{self, Form};
use crate::report::text::text;
use crate::talk::say;
use crate::{exit, stdout};

/// How many runs there are, and how they are run.
#[derive(Debug, Clone, Default, Args)]
pub struct Many {
    /// Run so many rows at a time; the figures are the same [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Run each of these values of a setting, or of seed: KEY=A,B,...; said again, every combination
    ///
    /// A value with a comma is put into quotes, and a list into brackets: rates=["1gbit"],["1mbit"].
    #[arg(long, value_name = "KEY=A,B", conflicts_with_all = ["report", "trace"])]
    sweep: Vec<Sweep>,

    /// Keep finished runs in this file, and take from there what was finished before
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "trace"])]
    resume: Option<PathBuf>,
}

impl Many {
    /// Threads that run cases.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(all_cores, usize::from)
    }

    /// Whether there is more than one run, or some may be finished.
    pub fn is_wanted(&self) -> bool {
        !self.sweep.is_empty() || self.resume.is_some()
    }
}

/// A setting, and the values that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sweep {
    key: String,
    values: Vec<String>,
}

impl FromStr for Sweep {
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

/// Every combination, the values of the last key next to each other.
fn grid(sweeps: &[Sweep]) -> Vec<Point<'_>> {
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

/// A combination, its run, and its rows if it was finished before.
struct Planned<'a> {
    point: Point<'a>,
    run: Arc<dyn AnyRun>,
    finished: Option<Vec<Value>>,
}

impl Planned<'_> {
    fn rows(&self) -> Vec<Value> {
        let rows = self.finished.clone();
        let rows = rows.unwrap_or_else(|| self.run.document().rows);
        rows.into_iter().map(|row| self.named(row)).collect()
    }

    /// The row, behind the values that it was run with.
    fn named(&self, row: Value) -> Value {
        let mut named = Map::new();
        if !self.point.is_empty() {
            let values = self.point.iter().map(|&(key, value)| (key, value.into()));
            let values = values.map(|(key, value): (_, Value)| (key.to_owned(), value));
            named.insert("sweep".to_owned(), Value::Object(values.collect()));
        }
        if let Value::Object(row) = row {
            named.extend(row);
        }
        Value::Object(named)
    }
}

/// Runs `file` with every combination of `many`, and prints the rows of all.
pub fn run(file: &str, seed: u64, output: &Output, form: Form) -> ExitCode {
    let many = &output.many;
    match run_all(file, seed, many) {
        Ok((document, interrupt)) => {
            let whole = || text(&document, stdout::columns());
            let shown = output::emit(&document, form, None, whole, String::new);
            interrupt.map_or(shown, |interrupt| {
                output::interrupted(interrupt, document.rows.len(), shown)
            })
        }
        Err(code) => code,
    }
}

type Finished = (Document, Option<crate::interrupt::Interrupt>);

fn run_all(file: &str, seed: u64, many: &Many) -> Result<Finished, ExitCode> {
    let usage = |error: ScenarioError| failed(exit::USAGE, &error.to_string());
    let mut planned = plan(file, seed, &many.sweep).map_err(usage)?;
    let mut book = None;
    if let Some(path) = &many.resume {
        let opened = Book::open(path, &mut planned).map_err(|error| {
            let message = format!("cannot resume from {}: {error}", path.display());
            failed(exit::FAILED, &message)
        })?;
        book = Some(opened);
    }
    let left = planned.iter().filter(|it| it.finished.is_none());
    let left: Vec<Arc<dyn AnyRun>> = left.map(|it| it.run.clone()).collect();
    let unwritten = Arc::new(OnceLock::new());
    let interrupt = {
        let (runs, unwritten) = (left, unwritten.clone());
        super::run_cases(runs, many.jobs(), move |run| {
            if let Some(book) = &mut book
                && let Err(error) = book.add(&run.document())
            {
                let _ = unwritten.set(error);
            }
        })?
    };
    if let (Some(error), Some(path)) = (unwritten.get(), &many.resume) {
        say!("taut: cannot keep runs in {}: {error}", path.display());
    }
    let base = prepare(file, Some(seed)).map_err(usage)?;
    Ok((
        document(base.as_ref(), many, &planned, interrupt.is_some()),
        interrupt,
    ))
}

fn document(
    base: &dyn AnyRun,
    many: &Many,
    planned: &[Planned<'_>],
    interrupted: bool,
) -> Document {
    let mut document = base.document();
    if let Value::Object(parameters) = &mut document.parameters {
        let sweeps = many.sweep.iter();
        let sweeps = sweeps.map(|it| (it.key.clone(), it.values.clone().into()));
        parameters.insert("sweep".to_owned(), Value::Object(sweeps.collect()));
    }
    Document {
        interrupted,
        rows: planned.iter().flat_map(Planned::rows).collect(),
        figures: Vec::new(),
        series: Vec::new(),
        summary: None,
        ..document
    }
}

fn plan<'a>(file: &str, seed: u64, sweeps: &'a [Sweep]) -> Result<Vec<Planned<'a>>, ScenarioError> {
    let planned = |point: Point<'a>| {
        let (seeds, changes): (Point, Point) = point.iter().partition(|(key, _)| *key == "seed");
        let seed = match seeds.last() {
            None => seed,
            Some((_, text)) => text.parse().map_err(|_| {
                let most = u64::MAX;
                ScenarioError::Setting(format!("seed is {text:?}; allowed: 0 to {most}"))
            })?,
        };
        let text = if changes.is_empty() {
            file.to_owned()
        } else {
            setting::with(file, &changes)?
        };
        Ok(Planned {
            run: prepare(&text, Some(seed))?,
            point,
            finished: None,
        })
    };
    grid(sweeps).into_iter().map(planned).collect()
}

fn failed(code: u8, message: &str) -> ExitCode {
    say!("taut: {message}");
    ExitCode::from(code)
}

/// A file of finished runs, a JSON object on each line.
struct Book(File);

impl Book {
    /// Opens the file, which need not be there, and gives those of `planned` their rows that are in it.
    fn open(path: &Path, planned: &mut [Planned<'_>]) -> io::Result<Self> {
        let mut file = OpenOptions::new();
        let mut file = file.read(true).append(true).create(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // What follows the last line break was being written when the process ended.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            file.set_len(whole as u64)?;
        }
        for (number, line) in (1..).zip(text[..whole].lines()) {
            let entry: Value = serde_json::from_str(line)
                .map_err(|error| io::Error::other(format!("line {number}: {error}")))?;
            let (Some(run), Some(rows)) = (entry.get("run"), entry["rows"].as_array()) else {
                return Err(io::Error::other(format!(
                    "line {number} is no finished run"
                )));
            };
            let same = planned
                .iter_mut()
                .filter(|it| *run == key(&it.run.document()));
            same.for_each(|it| it.finished = Some(rows.clone()));
        }
        Ok(Self(file))
    }

    fn add(&mut self, document: &Document) -> io::Result<()> {
        let line = json!({"run": key(document), "rows": document.rows});
        self.0.write_all(format!("{line}\n").as_bytes())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_where_no_bracket_and_no_quote_is_open() {
        assert_eq!(split("1,20us,x"), ["1", "20us", "x"]);
        assert_eq!(split("[1,2],[3]"), ["[1,2]", "[3]"]);
        assert_eq!(split("\"a,b\",c"), ["\"a,b\"", "c"]);
        assert_eq!(split("[[1,2],3]"), ["[[1,2],3]"]);
        assert!("ring".parse::<Sweep>().is_err());
        assert!("=1".parse::<Sweep>().is_err());
        assert!("ring=1,,2".parse::<Sweep>().is_err());
    }

    #[test]
    fn a_grid_has_every_combination_once_and_no_sweep_is_one_run() {
        let sweeps: Vec<Sweep> = ["a=1,2", "b=x,y,z"].map(|it| it.parse().unwrap()).into();
        let points = grid(&sweeps);
        assert_eq!(points.len(), 6);
        assert_eq!(points[0], [("a", "1"), ("b", "x")]);
        assert_eq!(points[1], [("a", "1"), ("b", "y")]);
        assert_eq!(points[5], [("a", "2"), ("b", "z")]);
        assert_eq!(grid(&[]), [Point::new()]);
    }
}
