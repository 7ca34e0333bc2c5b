//! Prints `docs/predictions.md`: every published figure, the simulator's and the lab's.
//!
//! `cargo run --release -p taut-scenarios --example predictions -- HEAD [FILE]...`: HEAD is the
//! text of the page, FILE a JSON document of the lab. `scripts/predictions.sh` writes the page.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use std::{env, fs};

use serde_json::Value;
use taut_report::document::{Document, Figure};
use taut_report::layout::fold;
use taut_report::number::float;
use taut_report::verdict::{Verdict, published};
use taut_scenarios::run::{all_cores, run_all};
use taut_scenarios::{registry, sweep};

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

/// Returns the whole page: the text of the first file, with the live results of the others.
fn page(mut files: impl Iterator<Item = String>) -> Result<String, Failed> {
    let head = fs::read_to_string(files.next().ok_or("HEAD is missing")?)?;
    let mut live = BTreeMap::new();
    for file in files {
        live.extend(live_values(&file).map_err(|error| format!("{file}: {error}"))?);
    }
    let documents = documents()?;
    let mut page = head.replace("@SUMMARY@", summary(&documents)?.trim());
    for (document, remark) in &documents {
        push_section(&mut page, document, remark, &live)?;
    }
    Ok(page)
}

/// Returns the live figures of a document of the lab, by their id.
fn live_values(file: &str) -> Result<Vec<(String, f64)>, Failed> {
    let document: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let figures = document["figures"].as_array().ok_or("no figures")?;
    let pair = |it: &Value| Some((it["id"].as_str()?.to_owned(), it["value"].as_f64()?));
    Ok(figures.iter().filter_map(pair).collect())
}

/// Runs every scenario with published figures; returns its results and its remark.
fn documents() -> Result<Vec<(Document, &'static str)>, Failed> {
    let entries = || {
        registry::ALL
            .iter()
            .filter(|entry| entry.description().has_figures())
    };
    let runs: Result<Vec<_>, _> = entries().map(|it| sweep::prepare(it.file, None)).collect();
    let runs = runs?;
    run_all(&runs, all_cores(), &mut |_, _, _| {}, &mut |_| {})?;
    let documents = runs.iter().map(|run| run.document());
    Ok(documents
        .zip(entries().map(|entry| &*entry.description().remark))
        .collect())
}

/// Returns the result in two sentences, and a row for each scenario.
fn summary(documents: &[(Document, &str)]) -> Result<String, Failed> {
    let mut table = "| scenario | figures | within | predicted | constants |\n".to_owned();
    table += "|---|--:|--:|--:|---|\n";
    let (mut all, mut all_within, mut all_predicted) = (0, 0, 0);
    for (document, _) in documents {
        let (name, figures) = (&document.scenario, document.figures.len());
        let verdict = Verdict::of(&document.figures);
        let (within, predicted) = (verdict.within, verdict.predicted());
        let constants = verdict.constants.join(", ");
        let counts = format!("{figures} | {within} | {predicted}");
        writeln!(table, "| [{name}](#{name}) | {counts} | {constants} |")?;
        (all, all_within) = (all + figures, all_within + within);
        all_predicted += predicted;
    }
    let first = format!("{all_within} of {all} predictions are within a tenth of the published");
    let result = format!("{first} figure. {all_predicted} of them count as predicted.");
    Ok(format!("{result}\n\n{table}"))
}

fn push_section(
    page: &mut String,
    document: &Document,
    remark: &str,
    live: &BTreeMap<String, f64>,
) -> Result<(), Failed> {
    let has_live = (document.figures.iter()).any(|figure| live.contains_key(&figure.id));
    let (heading, rule) = if has_live {
        (" live |", "--:|")
    } else {
        ("", "")
    };
    writeln!(page, "\n## {}\n", document.scenario)?;
    writeln!(
        page,
        "| figure | published | predicted |{heading}\n|---|--:|--:|{rule}"
    )?;
    let verdict = Verdict::of(&document.figures);
    let only_outside = verdict.predicted() == 0 && !verdict.outside.is_empty();
    for figure in &document.figures {
        if !only_outside || !figure.is_within_tenth() {
            let live = live.get(&figure.id).copied().map(float);
            let live = has_live.then(|| live.unwrap_or_default());
            writeln!(page, "| {} |", cells(figure, live).join(" | "))?;
        }
    }
    if !remark.is_empty() {
        // Lines of less than 100 columns.
        write!(page, "\n{}", fold(remark, 0, Some(99)))?;
    }
    Ok(())
}

/// Returns the cells of a row; `live` is `None` in a table without live results.
fn cells(figure: &Figure, live: Option<String>) -> Vec<String> {
    let value = float(figure.value);
    let value = match figure.is_within_tenth() {
        true => value,
        false => format!("**{value}**"),
    };
    let published = format!("{} {}", published(figure), figure.unit);
    let mut cells = vec![figure.id.clone(), published.trim_end().to_owned(), value];
    cells.extend(live);
    cells
}
