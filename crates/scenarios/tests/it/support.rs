//! Common functions of the scenario tests.

use serde_json::Value;
use taut_report::document::Document;
use taut_scenarios::{registry, sweep};

/// Runs the file of a scenario with replaced keys: `("ring", "64")`.
pub fn run_with(name: &str, replaced: &[(&str, &str)]) -> Document {
    let text = file_with(name, replaced);
    let document = sweep::run(&text, None, 1, &mut |_, _, _| {});
    document.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the file of a scenario with replaced keys.
pub fn file_with(name: &str, replaced: &[(&str, &str)]) -> String {
    let entry = registry::ALL.iter().find(|entry| entry.name == name);
    let file = entry.expect("a scenario of that name").file;
    let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
    for (key, value) in replaced {
        let line = lines.iter_mut().find(|line| {
            line.split_once('=')
                .is_some_and(|(left, _)| left.trim() == *key)
        });
        *line.unwrap_or_else(|| panic!("{name} has no key {key}")) = format!("{key} = {value}");
    }
    lines.join("\n")
}

/// Prints the rows as a table, for `--nocapture`.
pub fn show(document: &Document) {
    for row in &document.rows {
        let cells = row.as_object().into_iter().flatten();
        let cells: Vec<String> = cells.map(|(key, value)| format!("{key}={value}")).collect();
        println!("{}", cells.join(" "));
    }
    for figure in &document.figures {
        let mark = if figure.is_within_tenth() {
            "ok"
        } else {
            "MISS"
        };
        println!(
            "{}: {:?} -> {:.1} {} {mark}",
            figure.id, figure.published, figure.value, figure.unit
        );
    }
}

/// Returns the row with these values.
pub fn row<'a>(document: &'a Document, keys: &[(&str, &str)]) -> &'a Value {
    let is_it = |row: &&Value| {
        keys.iter().all(|(key, value)| match &row[*key] {
            Value::String(text) => text == value,
            other => value.parse().ok() == other.as_f64(),
        })
    };
    let found = document.rows.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no row {keys:?}"))
}

/// Returns a number of a row.
pub fn number(row: &Value, key: &str) -> f64 {
    row[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {row}"))
}
