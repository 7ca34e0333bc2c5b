//! Rows of nested objects as a table.

use serde_json::Value;

/// Columns, and for each row a value in each of them.
#[derive(Debug, PartialEq)]
pub struct Flat {
    /// The keys of the path to a value, joined by dots, in order of first appearance.
    pub columns: Vec<String>,
    /// `None` where a row has no such value.
    pub rows: Vec<Vec<Option<Value>>>,
}

/// Converts `rows` to a table.
pub fn flatten(rows: &[Value]) -> Flat {
    let rows: Vec<Vec<(String, Value)>> = rows.iter().map(leaves).collect();
    let mut columns: Vec<String> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let cells = |row: &Vec<(String, Value)>| {
        let cell = |column: &String| {
            let found = row.iter().find(|(name, _)| name == column);
            found.map(|(_, value)| value.clone())
        };
        columns.iter().map(cell).collect()
    };
    let rows = rows.iter().map(cells).collect();
    Flat { columns, rows }
}

/// Returns the scalar values of `value` with their paths.
fn leaves(value: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    collect(String::new(), value, &mut found);
    found
}

// The depth is bounded: scenarios create the documents, and serde_json reads 128 levels.
fn collect(path: String, value: &Value, found: &mut Vec<(String, Value)>) {
    let below = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                collect(below(key), value, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                collect(below(&index.to_string()), value, found);
            }
        }
        _ => found.push((path, value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_keys_are_joined_in_order() {
        let rows = [
            json!({"z": 1, "a": {"p50": 2, "deep": {"x": null}}}),
            json!({"z": 3, "list": [true, "t"], "a": {"p50": 4}}),
        ];
        let flat = flatten(&rows);
        assert_eq!(flat.columns, ["z", "a.p50", "a.deep.x", "list.0", "list.1"]);
        let (some, none) = (Some, None);
        assert_eq!(
            flat.rows,
            [
                vec![
                    some(json!(1)),
                    some(json!(2)),
                    some(json!(null)),
                    none.clone(),
                    none.clone()
                ],
                vec![
                    some(json!(3)),
                    some(json!(4)),
                    none,
                    some(json!(true)),
                    some(json!("t"))
                ],
            ]
        );
    }

    #[test]
    fn empty_value_keeps_its_column() {
        assert_eq!(flatten(&[json!({"a": {}, "b": []})]).columns, ["a", "b"]);
        assert_eq!(flatten(&[]).columns.len(), 0);
    }
}
