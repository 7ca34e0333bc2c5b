//! Compares every published result with the simulator's and the lab's, as one page:
//! `docs/predictions.md`.
//!
//! `cargo run --release -p taut-scenarios --example predictions -- [--live FILE]... [--cost FILE]`:
//! FILE is a JSON document of the lab, or the counts of `scripts/cost.sh`. `scripts/predictions.sh`
//! writes the page.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use std::{env, fs};

use serde_json::Value;
use taut_report::document::{Document, Figure};
use taut_report::number::float;
use taut_report::verdict::{Verdict, published};
use taut_scenarios::run::{all_cores, run_all};
use taut_scenarios::{registry, sweep};

const HEAD: &str = "# Predictions

Published figures beside what the simulator predicts with its defaults and, where the lab can run \
the
same, what was found live on a two-core virtual machine. Made by `scripts/predictions.sh`; do not \
edit.

This page compares; it tests nothing. *within*: inside the published figure or range, or at most a \
tenth
away. *outside*: farther, which says how far the model is from that machine. As many figures as \
constants
were chosen to meet do not count as predicted. Who published what: [sources.md](sources.md).
";

const COST_HEAD: &str = "
## cost of a packet

The CPU percentages published with E2 are of hosts that are not known, and cannot be predicted. In \
their
place, what a packet costs on the path (fifo, limit, ring, completion, over a device that does \
nothing)
with the limit and without, in instructions, counted by `scripts/cost.sh`:

| packets of a completion | off | fixed | dql | dql above off |
|--:|--:|--:|--:|--:|
";

type Failed = Box<dyn Error>;

fn main() -> ExitCode {
    match page(env::args().skip(1)) {
        Ok(page) => {
            print!("{page}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("predictions: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the page.
fn page(mut arguments: impl Iterator<Item = String>) -> Result<String, Failed> {
    let (mut live, mut cost) = (BTreeMap::new(), String::new());
    while let Some(option) = arguments.next() {
        let file = arguments.next().ok_or("FILE is missing")?;
        let failed = |error: Failed| format!("{file}: {error}");
        match option.as_str() {
            "--live" => live.extend(live_values(&file).map_err(failed)?),
            "--cost" => cost = cost_section(&file).map_err(failed)?,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    let mut page = HEAD.to_owned();
    for (document, remark) in documents()? {
        push_section(&mut page, &document, remark, &live)?;
    }
    Ok(page + &cost)
}

fn read(file: &str) -> Result<Value, Failed> {
    Ok(serde_json::from_str(&fs::read_to_string(file)?)?)
}

/// Returns the live results by id.
fn live_values(file: &str) -> Result<Vec<(String, f64)>, Failed> {
    let document = read(file)?;
    let figures = document["figures"].as_array().ok_or("no figures")?;
    let pair = |it: &Value| Some((it["id"].as_str()?.to_owned(), it["value"].as_f64()?));
    Ok(figures.iter().filter_map(pair).collect())
}

/// Returns the section about the cost of a packet on the path.
fn cost_section(file: &str) -> Result<String, Failed> {
    let document = read(file)?;
    let mut section = COST_HEAD.to_owned();
    for row in document["rows"].as_array().ok_or("no rows")? {
        let number = |key: &str| row[key].as_f64().ok_or(format!("no {key} in a row"));
        let (batch, fixed) = (number("batch_packets")?, number("fixed")?);
        let (off, dql) = (number("off")?, number("dql")?);
        let above = dql - off;
        writeln!(
            section,
            "| {batch} | {off:.1} | {fixed:.1} | {dql:.1} | {above:.1} |"
        )?;
    }
    Ok(section)
}

/// Returns the results of every scenario with published results, and the remark about it.
fn documents() -> Result<Vec<(Document, &'static str)>, Failed> {
    let entries = || registry::ALL.iter().filter(|entry| entry.has_figures);
    let runs: Result<Vec<_>, _> = entries().map(|it| sweep::prepare(it.file, None)).collect();
    let runs = runs?;
    run_all(&runs, all_cores(), &mut |_, _, _| {}, &mut |_| {})?;
    let documents = runs.iter().map(|run| run.document());
    Ok(documents.zip(entries().map(|entry| entry.remark)).collect())
}

fn push_section(
    page: &mut String,
    document: &Document,
    remark: &str,
    live: &BTreeMap<String, f64>,
) -> Result<(), Failed> {
    let sentence = Verdict::of(&document.figures).sentence();
    let sentence = sentence.unwrap_or_default();
    writeln!(page, "\n## {}\n\n{sentence}.\n", document.scenario)?;
    writeln!(page, "| figure | published | predicted | live | unit | |")?;
    writeln!(page, "|---|--:|--:|--:|---|---|")?;
    for figure in &document.figures {
        push_row(page, figure, live.get(&figure.id))?;
    }
    if !remark.is_empty() {
        write!(page, "\n{remark}\n")?;
    }
    Ok(())
}

fn push_row(page: &mut String, figure: &Figure, live: Option<&f64>) -> Result<(), Failed> {
    let Figure {
        id, unit, value, ..
    } = figure;
    let (published, value) = (published(figure), float(*value));
    let live = live.map_or_else(String::new, |&value| float(value));
    let compared = if figure.is_predicted() {
        "within"
    } else {
        "outside"
    };
    writeln!(
        page,
        "| {id} | {published} | {value} | {live} | {unit} | {compared} |"
    )?;
    Ok(())
}
