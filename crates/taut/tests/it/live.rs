//! Helpers of the tests of live experiments.

use std::process::Output;

use serde_json::Value;

/// Exit code of the command if it cannot run here.
const CANNOT_RUN_HERE: i32 = 77;

/// Returns `true` if the lab ran and ended with `code`, `false` if it cannot run here.
pub fn ended_with(code: i32, Output { status, stderr, .. }: &Output) -> bool {
    let talk = String::from_utf8_lossy(stderr);
    if status.code() == Some(CANNOT_RUN_HERE) {
        let ci = std::env::var("CI");
        assert_ne!(ci.as_deref(), Ok("true"), "must run in CI: {talk}");
        eprintln!("skipped: {talk}");
        return false;
    }
    assert_eq!(status.code(), Some(code), "{status}: {talk}");
    true
}

/// Returns `true` if the lab ran and succeeded, `false` if it cannot run here.
pub fn ran(output: &Output) -> bool {
    ended_with(0, output)
}

/// Returns the document of the lab of `scenario`.
pub fn document(scenario: &str, output: &Output) -> Value {
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&document["version"], &document["scenario"]),
        (&2.into(), &scenario.into())
    );
    document
}

pub fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().expect("rows")
}

/// Returns the number at a JSON pointer.
pub fn number(row: &Value, path: &str) -> f64 {
    let value = row.pointer(path).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("{path} in {row}"))
}
