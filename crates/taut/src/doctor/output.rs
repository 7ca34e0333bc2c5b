//! Verdicts for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Judged;
use super::evidence::Evidence;
use super::rules::{RULES, Rule, Verdict};
use taut_report::layout::fold;
use taut_report::number::{readable, short_time};

/// One document.
pub fn json(judged: &[Judged], evidence: &[Evidence]) -> String {
    let row = |it: &Judged| {
        let wrong = it.finding.verdict >= Verdict::Warn;
        json!({
            "device": it.device,
            "queue": it.queue,
            "rule": it.rule.name,
            "verdict": it.finding.verdict.name(),
            "evidence": it.finding.evidence,
            "advice": wrong.then(|| advice(it)),
        })
    };
    let rows: Vec<Value> = judged.iter().map(row).collect();
    let document = json!({
        "version": 1,
        "taut_version": env!("CARGO_PKG_VERSION"),
        "watched_ns": evidence.first().map(|it| it.watched_ns),
        "rows": rows,
    });
    format!("{document:#}\n")
}

/// A paragraph for each queue: what is wrong first; what is not, in a line.
pub fn text(
    judged: &[Judged],
    evidence: &[Evidence],
    verbose: bool,
    width: Option<usize>,
) -> String {
    let mut out = String::new();
    for it in evidence {
        let about = |judged: &&Judged| judged.device == it.device && judged.queue == it.queue();
        let mut about: Vec<&Judged> = judged.iter().filter(about).collect();
        about.sort_by_key(|it| std::cmp::Reverse(it.finding.verdict));
        if !out.is_empty() {
            out.push('\n');
        }
        out += &heading(it);
        for judged in &about {
            if verbose || judged.finding.verdict >= Verdict::Warn || it.row.is_none() {
                out += &lines(judged, width);
            }
        }
        if !verbose && it.row.is_some() {
            out += &in_short("ok", Verdict::Ok, &about, width);
            out += &in_short("not judged", Verdict::NotJudged, &about, width);
        }
    }
    out += &closing(judged);
    out
}

fn heading(it: &Evidence) -> String {
    let Some(row) = &it.row else {
        return format!("{}\n", it.device);
    };
    let mut out = format!("{} queue {}", it.device, row.queue);
    if let Some(driver) = &it.driver {
        let _ = write!(out, " ({driver})");
    }
    let _ = write!(
        out,
        ": limit {}, at most {} in flight, busy {} % of {}",
        readable(&json!(it.trend.limit_last)),
        readable(&json!(it.trend.in_flight_max)),
        it.trend.busy_percent(),
        short_time(it.watched_ns)
    );
    out + "\n"
}

/// Width of the names of verdicts and rules.
const VERDICT: usize = 10;
const NAME: usize = 15;

/// What to do, with the name of the device.
fn advice(it: &Judged) -> String {
    it.rule.advice.replace("DEV", &it.device)
}

fn lines(it: &Judged, width: Option<usize>) -> String {
    let (verdict, name) = (it.finding.verdict.name(), it.rule.name);
    let line = format!(
        "  {verdict:<VERDICT$}  {name:<NAME$}  {}",
        it.finding.evidence
    );
    let indent = 2 + VERDICT + 2 + NAME + 2;
    let mut out = fold_after(&line, indent, width);
    if it.finding.verdict >= Verdict::Warn {
        let line = format!("{:1$}do: {2}", "", indent, advice(it));
        out += &fold_after(&line, indent + 4, width);
    }
    out
}

/// Folds what is right of `indent`, and leaves the columns left of it as they are.
fn fold_after(line: &str, indent: usize, width: Option<usize>) -> String {
    let at = line
        .char_indices()
        .nth(indent)
        .map_or(line.len(), |(at, _)| at);
    let (left, right) = line.split_at(at);
    let width = width.map(|width| width.max(indent + 24));
    let folded = fold(&format!("{:indent$}{right}", ""), indent, width);
    format!("{left}{}", folded.get(indent..).unwrap_or("\n"))
}

/// The rules with `verdict`, with the reason that most of them share.
fn in_short(title: &str, verdict: Verdict, about: &[&Judged], width: Option<usize>) -> String {
    let those = about.iter().filter(|it| it.finding.verdict == verdict);
    let names: Vec<&str> = those.clone().map(|it| it.rule.name).collect();
    if names.is_empty() {
        return String::new();
    }
    let mut line = format!("  {title:<VERDICT$}  {}", names.join(", "));
    let shared = those
        .map(|it| it.finding.evidence.as_str())
        .find(|it| it.starts_with("idle"));
    if let (Verdict::NotJudged, Some(reason)) = (verdict, shared) {
        let _ = write!(line, " ({reason})");
    }
    fold_after(&line, 2 + VERDICT + 2, width)
}

fn closing(judged: &[Judged]) -> String {
    let count = |verdict| {
        judged
            .iter()
            .filter(|it| it.finding.verdict == verdict)
            .count()
    };
    let (bad, warn) = (count(Verdict::Bad), count(Verdict::Warn));
    let mut out = format!(
        "\n{bad} bad, {warn} to be warned of, {} ok, {} not judged",
        count(Verdict::Ok),
        count(Verdict::NotJudged)
    );
    if bad + warn > 0 {
        out += "; taut doctor --explain RULE says why";
    }
    out + "\n"
}

/// The rules, a line each.
pub fn list() -> String {
    let line = |rule: &Rule| format!("{:<NAME$}  {}\n", rule.name, rule.help);
    RULES.iter().map(line).collect()
}

/// Everything about one rule.
pub fn explain(rule: &Rule, width: Option<usize>) -> String {
    let mut out = format!("{}: {}\n\n", rule.name, rule.help);
    out += &fold(rule.why, 0, width);
    out.push('\n');
    for (title, text) in [
        ("When:", rule.threshold),
        ("From:", rule.source),
        ("Do:", rule.advice),
    ] {
        out += &fold_after(&format!("{title:<7}{text}"), 7, width);
    }
    out
}
