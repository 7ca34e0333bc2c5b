//! A page as HTML: one file without references to other files or the network.

use std::fmt::Write;
use std::slice;

use serde_json::Value;

use crate::document::Figure;
use crate::escaped::Escaped;
use crate::flat::{Flat, flatten};
use crate::number::{float, readable};
use crate::page::{Page, sentence};
use crate::plot;
use crate::verdict::{MEANING, SOURCES, Verdict, published};

const STYLE: &str = include_str!("page.css");

/// A table with more columns does not fit on a page; if it has few rows, it is transposed.
const MAX_COLUMNS: usize = 11;

/// Tables with more rows are not transposed.
const MAX_SIDE_BY_SIDE: usize = 8;

/// The class of right-aligned cells.
const NUMBER: &str = " class=\"number\"";

/// Returns the page as HTML.
pub fn html(page: &Page<'_>) -> String {
    let document = page.document;
    let name = Escaped(document.scenario);
    // The browser enforces the policy: the page loads no resources and runs no scripts.
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name} - taut</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{name}</h1>\n<p>{}</p>\n<p class=\"quiet\">{}. Seed {}, taut {}.</p>\n",
        plot::STYLE,
        Escaped(&sentence(page.about)),
        page.origin.text(),
        document.seed,
        Escaped(document.taut_version)
    );
    if document.interrupted {
        out.push_str(
            "<p class=\"note\">The run was interrupted: only finished rows are included.</p>\n",
        );
    }
    // Writing to a `String` cannot fail, here and below.
    for note in &document.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", Escaped(note));
    }
    push_figures(&mut out, &document.figures);
    push_charts(&mut out, page);
    if let Some(summary) = &document.summary {
        let _ = writeln!(out, "<h2>{}</h2>", Escaped(summary.title));
        push_table(&mut out, &summary.rows);
    }
    if !document.rows.is_empty() {
        out.push_str("<h2>Rows</h2>\n");
        push_columns(&mut out, &document.columns);
        push_table(&mut out, &document.rows);
    }
    push_parameters(&mut out, &document.parameters);
    let _ = write!(
        out,
        "<h2>Command</h2>\n<pre><code>{}</code></pre>\n</main>\n</body>\n</html>\n",
        Escaped(&page.command)
    );
    out
}

fn push_charts(out: &mut String, page: &Page<'_>) {
    if page.charts.is_empty() {
        return;
    }
    out.push_str("<h2>Charts</h2>\n");
    if let Some(remark) = &page.remark {
        let _ = writeln!(out, "<p>{}</p>", Escaped(remark));
    }
    out.push_str("<div class=\"charts\">\n");
    for (number, chart) in page.charts.iter().enumerate() {
        out.push_str(&plot::figure(chart, number));
    }
    out.push_str("</div>\n");
}

fn push_figures(out: &mut String, figures: &[Figure]) {
    let Some(sentence) = Verdict::of(figures).sentence() else {
        return;
    };
    let _ = write!(
        out,
        "<h2>Comparison with published figures</h2>\n<p class=\"verdict\">{}.</p>\n\
         <p class=\"quiet\">{MEANING} Sources: {SOURCES}.</p>\n\
         <div class=\"scroll\" tabindex=\"0\">\n<table class=\"figures\">\n<thead><tr>\
         <th scope=\"col\">Figure</th><th scope=\"col\">Compared</th>\
         <th scope=\"col\" class=\"number\">Result</th>\
         <th scope=\"col\" class=\"number\">Published</th>\
         <th scope=\"col\">Unit</th><th scope=\"col\">Constants</th></tr></thead>\n<tbody>\n",
        Escaped(&sentence)
    );
    for figure in figures {
        push_figure(out, figure);
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

fn push_figure(out: &mut String, figure: &Figure) {
    let mark = match figure.is_within_tenth() {
        true => "within",
        false => "outside",
    };
    let _ = writeln!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"mark {mark}\">{mark}</td>\
         <td class=\"number\" data-label=\"result\">{}</td>\
         <td class=\"number\" data-label=\"published\">{}</td>\
         <td class=\"unit\" data-label=\"unit\">{}</td>\
         <td class=\"unit\" data-label=\"constants\">{}</td></tr>",
        breakable(&figure.id),
        float(figure.value),
        published(figure),
        Escaped(figure.unit),
        Escaped(&figure.constants.join(", "))
    );
}

/// Writes the meanings of the columns.
fn push_columns(out: &mut String, columns: &[(&str, &str)]) {
    if columns.is_empty() {
        return;
    }
    out.push_str("<dl class=\"columns\">\n");
    for (name, meaning) in columns {
        let _ = writeln!(
            out,
            "<dt>{}</dt><dd>{}</dd>",
            breakable(name),
            Escaped(meaning)
        );
    }
    out.push_str("</dl>\n");
}

fn push_table(out: &mut String, rows: &[Value]) {
    let flat = flatten(rows);
    out.push_str("<div class=\"scroll\" tabindex=\"0\">\n<table>\n");
    if flat.columns.len() > MAX_COLUMNS && rows.len() <= MAX_SIDE_BY_SIDE {
        // Right-aligned, so that a column with texts and numbers is aligned.
        push_side_by_side(out, &flat, NUMBER);
    } else {
        push_one_below_another(out, &flat);
    }
    out.push_str("</table>\n</div>\n");
}

fn push_one_below_another(out: &mut String, flat: &Flat) {
    out.push_str("<thead><tr>");
    for (at, column) in flat.columns.iter().enumerate() {
        let class = number_class(flat.rows.iter().filter_map(|row| row[at].as_ref()));
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", breakable(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &flat.rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| push_cell(out, cell.as_ref()));
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n");
}

/// Writes a line for each column. The cells have `class`.
fn push_side_by_side(out: &mut String, flat: &Flat, class: &str) {
    out.push_str("<tbody>\n");
    for (at, column) in flat.columns.iter().enumerate() {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", breakable(column));
        for row in &flat.rows {
            let text = row[at].as_ref().map_or("-".to_owned(), readable);
            let _ = write!(out, "<td{class}>{}</td>", Escaped(&text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n");
}

fn push_cell(out: &mut String, cell: Option<&Value>) {
    let class = number_class(cell.into_iter());
    let text = cell.map_or("-".to_owned(), readable);
    let _ = write!(out, "<td{class}>{}</td>", Escaped(&text));
}

/// Returns the class of numbers and missing values, which are right-aligned.
fn number_class<'v>(mut values: impl Iterator<Item = &'v Value>) -> &'static str {
    let are_numbers = values.all(|value| value.is_number() || value.is_null());
    if are_numbers { NUMBER } else { "" }
}

fn push_parameters(out: &mut String, parameters: &Value) {
    out.push_str("<h2>Parameters</h2>\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n");
    push_side_by_side(out, &flatten(slice::from_ref(parameters)), "");
    out.push_str("</table>\n</div>\n");
}

/// Returns a name with possible breaks between its parts.
fn breakable(name: &str) -> String {
    let parts = name.split_inclusive(['/', '.', '_']);
    let escaped: Vec<String> = parts.map(|part| Escaped(part).to_string()).collect();
    escaped.join("<wbr>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::Document;
    use crate::page::Origin;

    fn document() -> Document {
        let figure = |id: &str, value| Figure {
            id: id.to_owned(),
            published: vec![100.0],
            value,
            unit: "bytes",
            constants: vec!["coalesce"],
        };
        Document {
            version: 1,
            scenario: "a<b",
            taut_version: "9.9",
            seed: 77,
            notes: vec!["late & \"later\"".to_owned()],
            parameters: json!({"evil": "</td><script>", "rate": 1000}),
            rows: vec![
                json!({"name": "<i>", "tps": null}),
                json!({"name": "&", "tps": 4321}),
            ],
            figures: vec![figure("E1/x", 105.0), figure("E1/y<", 200.0)],
            ..Document::default()
        }
    }

    fn page(document: &Document) -> String {
        html(&Page {
            document,
            origin: Origin::Simulated,
            about: "about \"it\"",
            charts: Vec::new(),
            remark: None,
            command: "taut sim 'a<b'".to_owned(),
        })
    }

    #[test]
    fn page_is_complete_and_escaped() {
        let html = page(&document());
        for part in [
            "<title>a&lt;b - taut</title>",
            "About &quot;it&quot;.",
            "Seed 77, taut 9.9.",
            "&lt;/td&gt;&lt;script&gt;",
            "<td>&lt;i&gt;</td>",
            "<td class=\"number\">4,321</td>",
            "taut sim &#39;a&lt;b&#39;",
            "E1/<wbr>y&lt;</th><td class=\"mark outside\">outside</td>",
            "E1/<wbr>x</th><td class=\"mark within\">within</td>",
            "1 of 2 figures differ by at most 10 % from the published ones. 1 constant was fitted",
            "<p class=\"note\">late &amp; &quot;later&quot;</p>",
            "docs/sources.md",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(!html.contains("<script"));
    }

    #[test]
    fn few_rows_of_many_columns_are_transposed() {
        let mut document = document();
        let row = |first: u64| {
            let fields = (first..first + 30).map(|at| (format!("key{}", at - first), at.into()));
            Value::Object(fields.collect())
        };
        document.rows = vec![row(100), row(200)];
        document.interrupted = true;
        let html = page(&document);
        for part in [
            "<tr><th scope=\"row\">key29</th><td class=\"number\">129</td>\
             <td class=\"number\">229</td></tr>",
            "The run was interrupted",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
    }

    #[test]
    fn no_published_results_no_table() {
        let mut document = document();
        document.figures.clear();
        document.rows.clear();
        let html = page(&document);
        assert!(!html.contains("published figures") && !html.contains("<h2>Rows"));
    }
}
