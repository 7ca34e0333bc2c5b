//! Comma-separated values, as RFC 4180 quotes them, with a line feed after each line.

use crate::document::Document;
use serde_json::Value;

use super::flat::flatten;

/// The last columns, equal in each row: they state the origin of a line, because RFC 4180 has no
/// comments.
const ORIGIN: [&str; 3] = ["scenario", "seed", "taut_version"];

/// Returns a line of column names, and a line for each row. Numbers are as in the JSON document. A
/// missing value is an empty field, an empty text is a quoted one.
pub fn csv(document: &Document) -> String {
    let flat = flatten(&document.rows);
    let names = flat.columns.iter().map(|name| quoted(name));
    let mut out = line(names.chain(ORIGIN.map(str::to_owned)));
    for (row, fields) in document.rows.iter().zip(&flat.rows) {
        let origin = [
            quoted(document.scenario),
            document.seed_of(row).to_string(),
            quoted(document.taut_version),
        ];
        out += &line(fields.iter().map(field).chain(origin));
    }
    out
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join(",") + "\n"
}

fn field(value: &Option<Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => quoted(text),
        Some(value) => quoted(&value.to_string()),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_special_fields_are_quoted() {
        for (text, written) in [
            ("plain text", "plain text"),
            ("a,b", "\"a,b\""),
            ("say \"when\"", "\"say \"\"when\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("cr\r", "\"cr\r\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(text), written);
        }
    }

    #[test]
    fn missing_value_is_an_empty_field() {
        let rows = [
            json!({"name": "x,y", "on": true, "at": {"p50": 0.1, "max": u64::MAX}}),
            json!({"name": "", "on": null, "at": {"p50": 2}}),
        ];
        let document = Document {
            version: 1,
            scenario: "a-scenario",
            taut_version: "0.0.0",
            seed: 7,
            parameters: json!({}),
            rows: rows.to_vec(),
            ..Document::default()
        };
        assert_eq!(
            csv(&document),
            "name,on,at.p50,at.max,scenario,seed,taut_version\n\
             \"x,y\",true,0.1,18446744073709551615,a-scenario,7,0.0.0\n\
             \"\",,2,,a-scenario,7,0.0.0\n"
        );
    }
}
