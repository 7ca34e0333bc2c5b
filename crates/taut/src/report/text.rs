//! A document for people, on a terminal.

use std::fmt::Write;

use serde_json::Value;
use taut_sim::results::{Document, Figure};

use super::flat::flatten;
use super::number::{float, readable};
use super::verdict::{Verdict, published};

/// No column's name is broken into lines shorter than this.
const NAME_WIDTH: usize = 10;

/// The rows as a table, then what became of the published figures, seed and version.
pub fn text(document: &Document) -> String {
    let mut out = table(&document.rows);
    out.push('\n');
    out.push_str(&closing(
        &document.figures,
        document.seed,
        document.taut_version,
    ));
    out
}

/// What stands under every table.
pub fn closing(figures: &[Figure], seed: u64, taut_version: &str) -> String {
    let verdict = Verdict::of(figures);
    let mut out = String::new();
    // Writing to a String cannot fail.
    if let Some(sentence) = verdict.sentence() {
        let _ = writeln!(out, "{sentence}");
    }
    for missed in &verdict.missed {
        let _ = writeln!(
            out,
            "  missed: {}: found {}, published {} {}",
            missed.id,
            float(missed.value),
            published(missed),
            missed.unit
        );
    }
    let _ = writeln!(out, "seed {seed}, taut {taut_version}");
    out
}

struct Column {
    /// The name, broken into lines.
    name: Vec<String>,
    cells: Vec<String>,
    width: usize,
    numbers: bool,
}

fn table(rows: &[Value]) -> String {
    let flat = flatten(rows);
    let column = |(at, name): (usize, &String)| {
        let cells: Vec<&Option<Value>> = flat.rows.iter().map(|row| &row[at]).collect();
        to_column(name, &cells)
    };
    let columns: Vec<Column> = flat.columns.iter().enumerate().map(column).collect();
    let lines = columns.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for line in 0..lines {
        // Names stand on the rule.
        push_line(&mut out, &columns, |column| {
            let above = lines - column.name.len();
            line.checked_sub(above).map_or("", |at| &column.name[at])
        });
    }
    let rule: Vec<String> = columns.iter().map(|it| "-".repeat(it.width)).collect();
    out.push_str(&rule.join("  "));
    out.push('\n');
    for row in 0..rows.len() {
        push_line(&mut out, &columns, |column| &column.cells[row]);
    }
    out
}

fn push_line<'a>(out: &mut String, columns: &'a [Column], cell: impl Fn(&'a Column) -> &'a str) {
    let cells = columns.iter().map(|column| {
        let (text, width) = (cell(column), column.width);
        if column.numbers {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    });
    let line = cells.collect::<Vec<_>>().join("  ");
    out.push_str(line.trim_end());
    out.push('\n');
}

fn to_column(name: &str, values: &[&Option<Value>]) -> Column {
    let text = |value: &&Option<Value>| value.as_ref().map_or("-".to_owned(), one_line);
    let cells: Vec<String> = values.iter().map(text).collect();
    let widest = |texts: &[String]| texts.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    let name = broken(name, widest(&cells).max(NAME_WIDTH));
    Column {
        width: widest(&cells).max(widest(&name)),
        numbers: values
            .iter()
            .all(|value| matches!(value, None | Some(Value::Number(_) | Value::Null))),
        name,
        cells,
    }
}

/// Control characters would break the table, and could reach the terminal.
fn one_line(value: &Value) -> String {
    readable(value).replace(char::is_control, " ")
}

/// Breaks a column's name after dots and underscores, where it is wider than `width`.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_stand_right_texts_left_and_names_on_the_rule() {
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
        assert_eq!(table(&rows).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_name_is_broken_only_where_it_is_too_wide() {
        assert_eq!(broken("rr_tps", 9), ["rr_tps"]);
        assert_eq!(
            broken("rr_latency_us.p50", 9),
            ["rr_", "latency_", "us.p50"]
        );
        assert_eq!(broken("indivisible-name", 4), ["indivisible-name"]);
        assert_eq!(broken("", 4), [""]);
    }

    #[test]
    fn no_rows_are_no_failure() {
        assert_eq!(table(&[]), "\n");
    }

    #[test]
    fn misses_are_named_with_what_was_found() {
        let figure = Figure {
            id: "E9/a/tps".to_owned(),
            published: vec![3000.0, 3200.0],
            value: 3554.0,
            unit: "bytes",
            constants: vec!["cadence"],
        };
        assert_eq!(
            closing(&[figure], 7, "0.1.0"),
            "1 constant chosen (cadence), 0 figures predicted: 0 of 1 met\n  \
             missed: E9/a/tps: found 3,554, published 3,000 to 3,200 bytes\nseed 7, taut 0.1.0\n"
        );
    }
}
