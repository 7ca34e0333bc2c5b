//! Prints `docs/predictions.md`: every published figure, the simulator's and the lab's.
//!
//! `cargo run --release -p taut-scenarios --example predictions -- [--live FILE]...`: FILE is a
//! JSON document of the lab. `scripts/predictions.sh` writes the page.

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

const PURPOSE: &str = "# Predictions

To judge the simulator: published figures, its predictions with default settings, and live results
on a two-core virtual machine.
";

const MEANING: &str = "
*within*: inside the published figure or range, or at most a tenth away. Constants were chosen to
meet published figures, so as many figures as constants do not count as predicted.

## Method

`scripts/predictions.sh` writes this page, which is not a test: the published machines differ.
[sources.md](sources.md) names the publications. A prediction that is not *within* is bold. If no
figure of a scenario counts as predicted, only those are listed; `taut sim NAME` prints all.

The CPU percentages published with E2 belong to unknown hosts and cannot be predicted.
`scripts/cost.sh` counts instructions for each packet instead ([cost.json](cost.json)).
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

/// Returns the whole page.
fn page(mut arguments: impl Iterator<Item = String>) -> Result<String, Failed> {
    let mut live = BTreeMap::new();
    while let Some(option) = arguments.next() {
        let file = arguments.next().ok_or("FILE is missing")?;
        let failed = |error: Failed| format!("{file}: {error}");
        match option.as_str() {
            "--live" => live.extend(live_values(&file).map_err(failed)?),
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    let documents = documents()?;
    let mut page = PURPOSE.to_owned();
    push_summary(&mut page, &documents)?;
    page += MEANING;
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
    let entries = || registry::ALL.iter().filter(|entry| entry.has_figures);
    let runs: Result<Vec<_>, _> = entries().map(|it| sweep::prepare(it.file, None)).collect();
    let runs = runs?;
    run_all(&runs, all_cores(), &mut |_, _, _| {}, &mut |_| {})?;
    let documents = runs.iter().map(|run| run.document());
    Ok(documents.zip(entries().map(|entry| entry.remark)).collect())
}

/// Appends the result in two sentences, and a row for each scenario.
fn push_summary(page: &mut String, documents: &[(Document, &str)]) -> Result<(), Failed> {
    let (mut figures, mut within, mut predicted) = (0, 0, 0);
    let mut table = String::new();
    for (document, _) in documents {
        let verdict = Verdict::of(&document.figures);
        figures += document.figures.len();
        within += verdict.within;
        predicted += verdict.predicted();
        let constants = match verdict.constants.as_slice() {
            [] => "-".to_owned(),
            names => names.join(", "),
        };
        writeln!(
            table,
            "| [{0}](#{0}) | {1} | {2} | {3} | {constants} |",
            document.scenario,
            document.figures.len(),
            verdict.within,
            verdict.predicted(),
        )?;
    }
    writeln!(
        page,
        "\n{within} of {figures} predictions are within a tenth of the published figure. \
         {predicted} of them count\nas predicted.\n"
    )?;
    writeln!(
        page,
        "| scenario | figures | within | predicted | constants |"
    )?;
    writeln!(page, "|---|--:|--:|--:|---|")?;
    *page += &table;
    Ok(())
}

fn push_section(
    page: &mut String,
    document: &Document,
    remark: &str,
    live: &BTreeMap<String, f64>,
) -> Result<(), Failed> {
    let has_live = (document.figures.iter()).any(|figure| live.contains_key(&figure.id));
    writeln!(page, "\n## {}\n", document.scenario)?;
    if has_live {
        writeln!(page, "| figure | published | predicted | live |")?;
        writeln!(page, "|---|--:|--:|--:|")?;
    } else {
        writeln!(page, "| figure | published | predicted |")?;
        writeln!(page, "|---|--:|--:|")?;
    }
    let verdict = Verdict::of(&document.figures);
    let only_outside = verdict.predicted() == 0 && !verdict.outside.is_empty();
    for figure in &document.figures {
        if !only_outside || !figure.is_predicted() {
            push_row(page, figure, has_live.then(|| live.get(&figure.id)))?;
        }
    }
    if !remark.is_empty() {
        page.push('\n');
        push_wrapped(page, remark);
    }
    Ok(())
}

/// Appends a row; `live` is `None` in a table without live results.
fn push_row(page: &mut String, figure: &Figure, live: Option<Option<&f64>>) -> Result<(), Failed> {
    let Figure {
        id, unit, value, ..
    } = figure;
    let (published, value) = (published(figure), float(*value));
    let value = if figure.is_predicted() {
        value
    } else {
        format!("**{value}**")
    };
    let published = format!("{published} {unit}");
    write!(page, "| {id} | {} | {value} |", published.trim_end())?;
    if let Some(live) = live {
        write!(
            page,
            " {} |",
            live.map_or_else(String::new, |&it| float(it))
        )?;
    }
    writeln!(page)?;
    Ok(())
}

/// Appends a paragraph in lines of at most 100 columns.
fn push_wrapped(page: &mut String, text: &str) {
    let mut columns = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if columns > 0 {
            let breaks = columns + 1 + width > 100;
            page.push(if breaks { '\n' } else { ' ' });
            columns = if breaks { 0 } else { columns + 1 };
        }
        *page += word;
        columns += width;
    }
    page.push('\n');
}
