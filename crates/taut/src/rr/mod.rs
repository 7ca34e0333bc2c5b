//! The experiment of a request/response under load: what is varied, what is reported.

pub mod experiment;
pub mod results;
pub mod table;

use std::process::ExitCode;

use crate::{exit, stdout};
use results::Results;

/// Prints what was found: one JSON document, or the table.
pub fn print(results: &Results, as_json: bool) -> ExitCode {
    if !as_json {
        let (seed, version) = (results.seed, results.taut_version);
        let table = table::table(&results.rows, results.parameters.is_published());
        return stdout::print(&format!("{table}\nseed {seed}, taut {version}\n"));
    }
    match serde_json::to_string_pretty(results) {
        Ok(document) => stdout::print(&(document + "\n")),
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
