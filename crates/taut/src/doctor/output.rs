//! Verdicts, as JSON or text.

use std::fmt::Write as _;

use serde_json::{Value, json};
use taut_observe::judge::{Evidence, Judgement, RULES, Rule, Verdict};
use taut_report::document::envelope;
use taut_report::layout::fold;

use super::groups::{Group, QueueJudgements, groups};

/// Returns the JSON document.
pub fn json(judged: &[QueueJudgements<'_>]) -> String {
    let row = |about: &Evidence, it: &Judgement| {
        let wrong = it.finding.verdict >= Verdict::Warn;
        json!({
            "device": about.device.row.name,
            "queue": about.queue_number(),
            "rule": it.rule.name,
            "verdict": it.finding.verdict.name(),
            "evidence": it.finding.evidence,
            "advice": wrong.then(|| advice(about, it)),
        })
    };
    let rows = judged
        .iter()
        .flat_map(|(about, all)| all.iter().map(|it| row(about, it)));
    let rows: Vec<Value> = rows.collect();
    let document = envelope(json!({
        "watched_ns": judged.first().map(|(it, _)| it.device.watched_ns),
        "rows": rows,
    }));
    format!("{document:#}\n")
}

/// Returns a paragraph for each queue: findings first, then the other rules on one line each.
pub fn text(judged: &[QueueJudgements<'_>], verbose: bool, width: Option<usize>) -> String {
    let mut out = String::new();
    for group in groups(judged) {
        if !out.is_empty() {
            out.push('\n');
        }
        out += &fold(&group.heading(), 2, width);
        let (about, has_queue) = (&group.judgements, group.members[0].queue.is_some());
        for judgement in about {
            if verbose || judgement.finding.verdict >= Verdict::Warn || !has_queue {
                out += &lines(&group, judgement, width);
            }
        }
        if !verbose && has_queue {
            out += &short_line("ok", Verdict::Ok, about, width);
            out += &short_line("not judged", Verdict::NotJudged, about, width);
        }
    }
    if out.is_empty() {
        out += "no device\n";
    }
    out += &closing(judged);
    out
}

/// Width of the names of verdicts and rules.
const VERDICT: usize = 10;
const NAME: usize = 21;

/// Returns the advice, with the name of the device.
fn advice(about: &Evidence, it: &Judgement) -> String {
    it.rule.advice.replace("DEV", &about.device.row.name)
}

fn lines(group: &Group<'_>, it: &Judgement, width: Option<usize>) -> String {
    let (verdict, name) = (it.finding.verdict.name().replace('_', " "), it.rule.name);
    let first = group.members[0];
    let of = match first.queue_number() {
        Some(queue) if group.varied.contains(&name) => format!("queue {queue}: "),
        _ => String::new(),
    };
    let line = format!(
        "  {verdict:<VERDICT$}  {name:<NAME$}  {of}{}",
        it.finding.evidence
    );
    let indent = 2 + VERDICT + 2 + NAME + 2;
    let mut out = fold_after(&line, indent, width);
    if it.finding.verdict >= Verdict::Warn {
        let line = format!("{:1$}do: {2}", "", indent, advice(first, it));
        out += &fold_after(&line, indent + 4, width);
    }
    out
}

/// Folds the text right of `indent`, and keeps the columns left of it.
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

/// Returns one line of the rules with `verdict`, with their common reason.
fn short_line(title: &str, verdict: Verdict, about: &[&Judgement], width: Option<usize>) -> String {
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

fn closing(judged: &[QueueJudgements<'_>]) -> String {
    let count = |verdict| {
        let all = judged.iter().flat_map(|(_, all)| all);
        all.filter(|it| it.finding.verdict == verdict).count()
    };
    let (bad, warn) = (count(Verdict::Bad), count(Verdict::Warn));
    let mut out = format!(
        "\n{bad} bad, {warn} warnings, {} ok, {} not judged",
        count(Verdict::Ok),
        count(Verdict::NotJudged)
    );
    if bad + warn > 0 {
        out += "; for details: taut doctor --explain RULE";
    }
    out + "\n"
}

/// Returns the rules, one per line.
pub fn list() -> String {
    let line = |rule: &Rule| format!("{:<NAME$}  {}\n", rule.name, rule.help);
    RULES.iter().map(line).collect()
}

/// Returns the explanation of a rule.
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
