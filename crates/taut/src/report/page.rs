//! A report: one page that needs nothing but itself, with or without a network.

use std::fmt::Write;

use serde_json::Value;
use taut_sim::results::{Document, Figure};

use super::chart::Chart;
use super::flat::{flatten, leaves};
use super::html::Escaped;
use super::number::{float, readable};
use super::verdict::{Verdict, published};

const STYLE: &str = include_str!("page.css");

/// What is shown.
pub struct Page<'a> {
    pub document: &'a Document,
    /// What the scenario shows, in a line.
    pub about: &'a str,
    /// What was measured over time, and how it is spread.
    pub charts: &'a [Chart],
    /// What should be said of the charts.
    pub remark: Option<String>,
    /// What gives the same results again.
    pub command: &'a str,
}

impl Page<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let name = Escaped(self.document.scenario);
        // The policy is a promise that the browser keeps: nothing is loaded, nothing is run.
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{name} - taut</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{name}</h1>\n<p>{}</p>\n<p class=\"quiet\">Simulated. Seed {}, taut {}.</p>\n",
            Escaped(&sentence(self.about)),
            self.document.seed,
            Escaped(self.document.taut_version)
        );
        push_figures(&mut out, &self.document.figures);
        self.push_charts(&mut out);
        push_rows(&mut out, &self.document.rows);
        push_parameters(&mut out, &self.document.parameters);
        let _ = write!(
            out,
            "<h2>The same again</h2>\n<pre><code>{}</code></pre>\n</main>\n</body>\n</html>\n",
            Escaped(self.command)
        );
        out
    }

    fn push_charts(&self, out: &mut String) {
        if self.charts.is_empty() {
            return;
        }
        out.push_str("<h2>Charts</h2>\n");
        if let Some(remark) = &self.remark {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(out, "<p>{}</p>", Escaped(remark));
        }
        out.push_str("<div class=\"charts\">\n");
        for (number, chart) in self.charts.iter().enumerate() {
            out.push_str(&chart.figure(number));
        }
        out.push_str("</div>\n");
    }
}

fn push_figures(out: &mut String, figures: &[Figure]) {
    let Some(sentence) = Verdict::of(figures).sentence() else {
        return;
    };
    let _ = write!(
        out,
        "<h2>Against the published figures</h2>\n<p class=\"verdict\">{}.</p>\n\
         <p class=\"quiet\">Met: within a tenth of the published figure, or of the nearer end of its \
         range.</p>\n<div class=\"scroll\" tabindex=\"0\">\n<table class=\"figures\">\n<thead><tr>\
         <th scope=\"col\">Figure</th><th scope=\"col\">Verdict</th>\
         <th scope=\"col\" class=\"number\">Found</th>\
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
    let (class, mark) = if figure.is_predicted() {
        ("met", "\u{2713} met")
    } else {
        ("missed", "\u{2717} missed")
    };
    let _ = writeln!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"mark {class}\">{mark}</td>\
         <td class=\"number\" data-label=\"found\">{}</td>\
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

fn push_rows(out: &mut String, rows: &[Value]) {
    if rows.is_empty() {
        return;
    }
    let flat = flatten(rows);
    out.push_str("<h2>Rows</h2>\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead><tr>");
    for (at, column) in flat.columns.iter().enumerate() {
        let class = number_class(flat.rows.iter().filter_map(|row| row[at].as_ref()));
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", breakable(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &flat.rows {
        out.push_str("<tr>");
        for cell in row {
            let class = number_class(cell.iter());
            let text = cell.as_ref().map_or("-".to_owned(), readable);
            let _ = write!(out, "<td{class}>{}</td>", Escaped(&text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// Numbers, and their absence, stand right.
fn number_class<'v>(mut values: impl Iterator<Item = &'v Value>) -> &'static str {
    if values.all(|value| value.is_number() || value.is_null()) {
        " class=\"number\""
    } else {
        ""
    }
}

fn push_parameters(out: &mut String, parameters: &Value) {
    out.push_str("<h2>Parameters</h2>\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n<tbody>\n");
    for (name, value) in leaves(parameters) {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            breakable(&name),
            Escaped(&readable(&value))
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// With a capital at its start and a full stop at its end.
fn sentence(text: &str) -> String {
    let mut characters = text.trim_end_matches('.').chars();
    match characters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), characters.as_str()),
        None => String::new(),
    }
}

/// A name that may be broken where its parts meet.
fn breakable(name: &str) -> String {
    let parts = name.split_inclusive(['/', '.', '_']);
    let escaped: Vec<String> = parts.map(|part| Escaped(part).to_string()).collect();
    escaped.join("<wbr>")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Document {
        let figure = |id: &str, value| Figure {
            id: id.to_owned(),
            published: vec![100.0],
            value,
            unit: "bytes",
            constants: vec!["cadence"],
        };
        Document {
            version: 1,
            scenario: "a<b",
            taut_version: "9.9",
            seed: 77,
            parameters: json!({"evil": "</td><script>", "rate": 1000}),
            rows: vec![
                json!({"name": "<i>", "tps": null}),
                json!({"name": "&", "tps": 4321}),
            ],
            figures: vec![figure("E1/x", 105.0), figure("E1/y<", 200.0)],
            series: Vec::new(),
        }
    }

    fn html(document: &Document) -> String {
        let page = Page {
            document,
            about: "about \"it\"",
            charts: &[],
            remark: None,
            command: "taut sim 'a<b'",
        };
        page.html()
    }

    #[test]
    fn everything_is_said_and_nothing_is_markup() {
        let html = html(&document());
        for part in [
            "<title>a&lt;b - taut</title>",
            "About &quot;it&quot;.",
            "Seed 77, taut 9.9.",
            "&lt;/td&gt;&lt;script&gt;",
            "<td>&lt;i&gt;</td>",
            "<td class=\"number\">4,321</td>",
            "taut sim &#39;a&lt;b&#39;",
            "E1/<wbr>y&lt;</th><td class=\"mark missed\">\u{2717} missed</td>",
            "E1/<wbr>x</th><td class=\"mark met\">\u{2713} met</td>",
            "1 constant chosen (cadence), 0 figures predicted: 1 of 2 met",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
        assert!(!html.contains("<script"));
    }

    #[test]
    fn nothing_published_leaves_no_empty_table() {
        let mut document = document();
        document.figures.clear();
        document.rows.clear();
        let html = html(&document);
        assert!(!html.contains("published figures") && !html.contains("<h2>Rows"));
    }
}
