//! Every published figure beside what is predicted and what was found live, as one page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use taut_report::document::{Document, Figure};
use taut_scenarios::run::{all_cores, run_all};
use taut_scenarios::{registry, sweep};

use super::progress::Progress;
use crate::talk::say;
use crate::{exit, stdout};
use taut_report::number::float;
use taut_report::verdict::{Verdict, published};

/// What `taut predictions` accepts.
///
/// Run every scenario with published figures and print a page of figures
#[derive(Debug, Clone, Args)]
pub struct Predictions {
    /// JSON documents of the lab, whose figures stand beside the predicted ones
    #[arg(long, value_name = "FILE")]
    pub live: Vec<PathBuf>,

    /// What `scripts/cost.sh` counted on the path, to stand for the published CPU percentages
    #[arg(long, value_name = "FILE")]
    pub cost: Option<PathBuf>,
}

/// `taut predictions`.
pub fn run(options: &Predictions) -> ExitCode {
    match whole_page(options) {
        Ok(page) => stdout::print(&page),
        Err(error) => {
            say!("taut: {error:#}");
            ExitCode::from(exit::FAILED)
        }
    }
}

fn whole_page(options: &Predictions) -> anyhow::Result<String> {
    let live = live_values(&options.live)?;
    let cost = options.cost.as_ref().map(|file| {
        let read = std::fs::read_to_string(file).map_err(anyhow::Error::from);
        let rows = read.and_then(|text| cost_rows(&text));
        rows.with_context(|| format!("read {}", file.display()))
    });
    Ok(page(&documents()?, &live) + &cost.transpose()?.unwrap_or_default())
}

/// What a packet costs on the path, as a section of the page.
fn cost_rows(text: &str) -> anyhow::Result<String> {
    let document: serde_json::Value = serde_json::from_str(text)?;
    let rows = document["rows"].as_array().context("no rows in it")?;
    let mut section = String::from(
        "\n## cost of a packet\n\n\
         The CPU percentages published with E2 are of hosts that are not known, and cannot be \
         predicted. In their\nplace, what a packet costs on the path (fifo, limit, ring, \
         completion, over a device that does nothing)\nwith the limit and without, in \
         instructions, counted by `scripts/cost.sh`:\n\n\
         | packets of a completion | off | fixed | dql | dql above off |\n\
         |--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let number = |key: &str| {
            row[key]
                .as_f64()
                .with_context(|| format!("no {key} in a row"))
        };
        let (batch, fixed) = (number("batch_packets")?, number("fixed")?);
        let (off, dql) = (number("off")?, number("dql")?);
        // Writing to a String cannot fail.
        let _ = writeln!(
            section,
            "| {batch} | {off:.1} | {fixed:.1} | {dql:.1} | {:.1} |",
            dql - off
        );
    }
    Ok(section)
}

/// Figures found live, by their id.
type Live = BTreeMap<String, f64>;

fn live_values(files: &[PathBuf]) -> anyhow::Result<Live> {
    let mut live = Live::new();
    for file in files {
        live.extend(read_live(file).with_context(|| format!("read {}", file.display()))?);
    }
    Ok(live)
}

fn read_live(file: &Path) -> anyhow::Result<Live> {
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let figures = document["figures"].as_array().context("no figures in it")?;
    let pair = |figure: &serde_json::Value| {
        Some((figure["id"].as_str()?.to_owned(), figure["value"].as_f64()?))
    };
    Ok(figures.iter().filter_map(pair).collect())
}

/// What every scenario gives that has published figures, and what is to be said about it.
fn documents() -> anyhow::Result<Vec<(Document, &'static str)>> {
    let mut progress = Progress::new();
    let entries = registry::ALL.iter().filter(|entry| entry.has_figures);
    let runs = entries
        .clone()
        .map(|entry| sweep::prepare(entry.file, None));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let mut show = |part: &str, done, of| progress.show(part, done, of);
    run_all(&runs, all_cores(), &mut show, &mut |_| {})?;
    let documents = runs.iter().map(|run| run.document());
    Ok(documents.zip(entries.map(|entry| entry.remark)).collect())
}

fn page(documents: &[(Document, &str)], live: &Live) -> String {
    let mut text = String::from(
        "# Predictions\n\n\
         Published figures beside what the simulator predicts with its defaults and, where the lab \
         can run the\nsame, what was found live on a two-core virtual machine. Made by \
         `scripts/predictions.sh`; do not edit.\n\n\
         This page compares; it tests nothing. *within*: inside the published figure or range, or at \
         most a tenth\naway. *outside*: farther, which says how far the model is from that machine. \
         As many figures as constants\nwere chosen to meet do not count as predicted. Who published \
         what: [sources.md](sources.md).\n",
    );
    for (document, remark) in documents {
        let verdict = Verdict::of(&document.figures);
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n{}.\n\n\
             | figure | published | predicted | live | unit | |\n|---|--:|--:|--:|---|---|\n",
            document.scenario,
            verdict.sentence().unwrap_or_default(),
        );
        for figure in &document.figures {
            text += &line(figure, live.get(&figure.id));
        }
        if !remark.is_empty() {
            let _ = write!(text, "\n{remark}\n");
        }
    }
    text
}

fn line(figure: &Figure, live: Option<&f64>) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        figure.id,
        published(figure),
        float(figure.value),
        live.map_or_else(String::new, |&value| float(value)),
        figure.unit,
        if figure.is_predicted() {
            "within"
        } else {
            "outside"
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_a_row_for_each_batch_and_a_file_without_is_refused() {
        let text = r#"{"rows": [{"batch_packets": 8, "off": 100.0, "fixed": 101, "dql": 120.5}]}"#;
        let section = cost_rows(text).unwrap();
        assert!(
            section.ends_with("| 8 | 100.0 | 101.0 | 120.5 | 20.5 |\n"),
            "{section}"
        );
        for (text, what) in [
            ("{}", "no rows"),
            (r#"{"rows": [{"off": 1}]}"#, "no batch_packets"),
        ] {
            assert!(cost_rows(text).unwrap_err().to_string().contains(what));
        }
    }

    #[test]
    fn a_live_figure_stands_beside_the_one_of_its_id() {
        let figure = Figure {
            id: "E1/x".to_owned(),
            published: vec![100.0],
            value: 120.0,
            unit: "bytes",
            constants: vec!["cadence"],
        };
        let live = Live::from([("E1/x".to_owned(), 101.0), ("E1/y".to_owned(), 7.0)]);
        assert_eq!(
            line(&figure, live.get("E1/x")),
            "| E1/x | 100 | 120 | 101 | bytes | outside |\n"
        );
        assert_eq!(
            line(&figure, None),
            "| E1/x | 100 | 120 |  | bytes | outside |\n"
        );
    }
}
