//! A page as Markdown, for the book and the pages of `docs`.

use std::fmt::{Display, Write};

use serde_json::Value;

use crate::flat::flatten;
use crate::number::{float, readable};
use crate::page::{Page, sentence};
use crate::verdict::{SOURCES, Verdict, published};

/// Returns the page as Markdown. `pictures` names the files of its charts.
pub fn markdown(page: &Page<'_>, pictures: &[impl Display]) -> String {
    let document = page.document;
    let mut out = format!(
        "# {}\n\n{}\n\n{}. Seed {}, taut {}.\n",
        document.scenario,
        sentence(page.about),
        page.origin.text(),
        document.seed,
        document.taut_version
    );
    if document.interrupted {
        out += "\nThe run was interrupted: only finished rows are included.\n";
    }
    // Writing to a `String` cannot fail, here and below.
    if !document.notes.is_empty() {
        out += "\n## Notes\n\n";
        for note in &document.notes {
            let _ = writeln!(out, "- {note}");
        }
    }
    let verdict = Verdict::of(&document.figures);
    if let Some(sentence) = verdict.sentence() {
        let _ = writeln!(out, "\n## Published figures\n\n{sentence} ({SOURCES}).");
        out += "\n| figure | result | published | unit |\n|---|--:|--:|---|\n";
        for figure in &document.figures {
            let (id, value, unit) = (&figure.id, float(figure.value), figure.unit);
            let _ = writeln!(out, "| {id} | {value} | {} | {unit} |", published(figure));
        }
    }
    if !pictures.is_empty() {
        let remark = page.remark.as_deref().unwrap_or_default();
        let _ = writeln!(out, "\n## Charts\n\n{remark}\n");
        for (chart, picture) in page.charts.iter().zip(pictures) {
            let _ = writeln!(out, "![{}]({picture})", chart.title);
        }
    }
    if let Some(summary) = &document.summary {
        let _ = write!(out, "\n## {}\n\n{}", summary.title, table(&summary.rows));
    }
    if !document.rows.is_empty() {
        let _ = write!(out, "\n## Rows\n\n{}", table(&document.rows));
    }
    let _ = writeln!(out, "\n## Command\n\n    {}", page.command);
    out
}

/// Returns `rows` as a table. Nested keys are joined by dots.
pub fn table(rows: &[Value]) -> String {
    let flat = flatten(rows);
    let mut out = String::new();
    push_row(&mut out, flat.columns.iter().cloned());
    push_row(&mut out, flat.columns.iter().map(|_| "---".to_owned()));
    for row in &flat.rows {
        let cell = |cell: &Option<Value>| cell.as_ref().map_or("-".to_owned(), readable);
        push_row(&mut out, row.iter().map(cell));
    }
    out
}

fn push_row(out: &mut String, cells: impl Iterator<Item = String>) {
    for cell in cells {
        let cell = cell.replace(char::is_control, " ").replace('|', "\\|");
        let _ = write!(out, "| {cell} ");
    }
    out.push_str("|\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::Document;
    use crate::page::Origin;

    #[test]
    fn table_escapes_bars_and_marks_missing_values() {
        let rows = [json!({"a": "x|y", "b": {"p50": 4321}}), json!({"a": null})];
        assert_eq!(
            table(&rows),
            "| a | b.p50 |\n| --- | --- |\n| x\\|y | 4,321 |\n| - | - |\n"
        );
    }

    #[test]
    fn page_has_notes_and_rows() {
        let document = Document {
            scenario: "forward",
            notes: vec!["2 pings were lost".to_owned()],
            rows: vec![json!({"limit": "dql"})],
            ..Document::default()
        };
        let page = Page {
            document: &document,
            origin: Origin::Live,
            about: "ping under load",
            charts: Vec::new(),
            remark: None,
            command: "taut lab forward".to_owned(),
        };
        let text = markdown(&page, &[] as &[&str]);
        assert!(text.starts_with("# forward\n\nPing under load.\n\nMeasured live."));
        assert!(text.contains("## Notes\n\n- 2 pings were lost\n"));
        assert!(text.contains("## Rows\n\n| limit |\n"));
    }
}
