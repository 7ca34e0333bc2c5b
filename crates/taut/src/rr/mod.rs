//! The experiment of a request/response under load: what is varied, what is reported.

pub mod experiment;
mod published;
pub mod results;
pub mod table;

use std::process::ExitCode;

use crate::{exit, stdout};
use results::Results;

/// What was found as one JSON document.
pub fn json(results: &Results) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(results)? + "\n")
}

/// Prints what was found: one JSON document, or the table.
pub fn print(results: &Results, as_json: bool) -> ExitCode {
    if !as_json {
        let (seed, version) = (results.seed, results.taut_version);
        let table = table::table(results);
        return stdout::print(&format!("{table}\nseed {seed}, taut {version}\n"));
    }
    match json(results) {
        Ok(document) => stdout::print(&document),
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
