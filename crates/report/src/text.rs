//! A document as text for a terminal.

use std::fmt::Write;

use crate::document::Document;
use serde_json::Value;

use super::flat::flatten;
use super::layout::{self, SPACES, fold, side_by_side};
use super::number::{float, readable};
use super::verdict::{SOURCES, Verdict, published};

/// Minimum line width when a column's name is broken.
const NAME_WIDTH: usize = 10;

/// Returns the summary, all rows as a table of at most `width` columns, and the closing notes.
pub fn text(document: &Document, width: Option<usize>) -> String {
    let mut out = summary(document, width) + &table(&document.rows, width);
    out.push('\n');
    out + &notes(document, width) + &remarks(document, width)
}

/// Returns the closing notes of every table: the summary, the meanings of the columns, the
/// comparison with published results, seed and version.
pub fn closing(document: &Document, width: Option<usize>) -> String {
    notes(document, width) + &summary(document, width) + &remarks(document, width)
}

fn notes(document: &Document, width: Option<usize>) -> String {
    let notes = document.notes.iter();
    notes.map(|note| fold(note, 2, width)).collect()
}

/// Returns the summary, if there is one.
fn summary(document: &Document, width: Option<usize>) -> String {
    let Some(summary) = &document.summary else {
        return String::new();
    };
    let title = fold(summary.title, 0, width);
    format!("{title}{}\n", table(&summary.rows, width))
}

/// Returns meanings of the columns, published results, seed and version.
fn remarks(document: &Document, width: Option<usize>) -> String {
    let mut out = String::new();
    for (name, meaning) in &document.columns {
        out += &fold(&format!("{name}: {meaning}"), 2, width);
    }
    if document.interrupted {
        out += &fold("interrupted: only finished rows are included", 0, width);
    }
    let verdict = Verdict::of(&document.figures);
    if let Some(sentence) = verdict.sentence() {
        out += &fold(&format!("{sentence} ({SOURCES})"), 2, width);
    }
    for outside in &verdict.outside {
        let line = format!(
            "  outside: {}: {} here, {} published ({})",
            outside.id,
            float(outside.value),
            published(outside),
            outside.unit
        );
        out += &fold(line.trim_end_matches(" ()"), 4, width);
    }
    let seed = if document.parameters["sweep"]["seed"].is_null() {
        format!("seed {}, ", document.seed)
    } else {
        String::new()
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{seed}taut {}", document.taut_version);
    out
}

fn table(rows: &[Value], width: Option<usize>) -> String {
    let flat = flatten(rows);
    let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), one_line);
    let column = |(at, name): (usize, &String)| {
        let cells: Vec<String> = flat.rows.iter().map(|row| text(&row[at])).collect();
        (broken(name, widest(&cells).max(NAME_WIDTH)), cells)
    };
    let columns: Vec<_> = flat.columns.iter().enumerate().map(column).collect();
    let is_number = |value: &_| matches!(value, None | Some(Value::Number(_) | Value::Null));
    let numbers = |at: usize| flat.rows.iter().all(|row| is_number(&row[at]));
    // The leading text columns identify a row.
    let keys = (0..columns.len()).take_while(|&at| !numbers(at)).count();
    let head = columns
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    let aligned = |(at, (name, cells)): (usize, (Vec<String>, Vec<String>))| {
        let rule = "-".repeat(widest(&name).max(widest(&cells)));
        // Names are aligned to the rule.
        let above = vec![String::new(); head - name.len()];
        let lines = [above, name, vec![rule], cells].concat();
        layout::column("", lines, numbers(at)).split_off(1)
    };
    let columns: Vec<Vec<String>> = columns.into_iter().enumerate().map(aligned).collect();
    side_by_side(&columns, keys.max(1), SPACES, width)
}

fn widest(texts: &[String]) -> usize {
    texts.iter().map(|it| it.chars().count()).max().unwrap_or(0)
}

/// Replaces control characters, which would break the table and reach the terminal.
fn one_line(value: &Value) -> String {
    readable(value).replace(char::is_control, " ")
}

/// Breaks a column's name after dots and underscores, if it is wider than `width`.
fn broken(name: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive(['.', '_']) {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + part.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(part);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::document::{Figure, Summary};
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_right_and_texts_left_aligned() {
        let rows = [
            json!({"case": "limit off", "in_flight_bytes": {"p50": 3_090_431}, "tps": 39.8}),
            json!({"case": "on", "in_flight_bytes": {"p50": 7}, "tps": null}),
        ];
        let lines = [
            "           in_flight_",
            "case        bytes.p50   tps",
            "---------  ----------  ----",
            "limit off   3,090,431  39.8",
            "on                  7     -",
        ];
        assert_eq!(table(&rows, None).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn only_wide_names_are_broken() {
        assert_eq!(broken("rr_tps", 9), ["rr_tps"]);
        assert_eq!(
            broken("rr_latency_us.p50", 9),
            ["rr_", "latency_", "us.p50"]
        );
        assert_eq!(broken("indivisible-name", 4), ["indivisible-name"]);
        assert_eq!(broken("", 4), [""]);
    }

    #[test]
    fn no_rows_are_not_an_error() {
        assert_eq!(table(&[], Some(80)), "");
    }

    #[test]
    fn lines_keep_width_and_row_key() {
        let rows = [json!({"rule": "dql", "first_bytes": 1, "second_bytes": 2, "third_bytes": 3})];
        let table = table(&rows, Some(28));
        assert!(table.lines().all(|line| line.len() <= 28), "{table}");
        assert_eq!(table.matches("\ndql ").count(), 2, "{table}");
    }

    #[test]
    fn results_outside_are_listed() {
        let document = Document {
            seed: 7,
            taut_version: "0.1.0",
            figures: vec![Figure {
                id: "E9/a/tps".to_owned(),
                published: vec![3000.0, 3200.0],
                value: 3554.0,
                unit: "bytes",
                constants: vec!["coalesce"],
            }],
            ..Document::default()
        };
        assert_eq!(
            closing(&document, None),
            "0 of 1 figure differ by at most 10 % from the published ones. 1 constant was fitted \
             to them (coalesce), so none is predicted (docs/sources.md)\n  \
             outside: E9/a/tps: 3,554 here, 3,000 to 3,200 published (bytes)\nseed 7, taut 0.1.0\n"
        );
    }

    #[test]
    fn summary_is_above_the_rows() {
        let document = Document {
            summary: Some(Summary {
                title: "In short",
                rows: vec![json!({"rule": "dql"})],
            }),
            ..Document::default()
        };
        let text = text(&document, None);
        assert!(text.starts_with("In short\nrule\n----\ndql\n\n"), "{text}");
        assert_eq!(text.matches("In short").count(), 1);
    }
}
