//! The experiment of a request/response under load: what is varied, what is reported.

pub mod experiment;
mod published;
pub mod results;
mod table;

use std::process::ExitCode;

use crate::exit;
use results::Results;

/// Prints what was found: one JSON document, or the table.
pub fn print(results: &Results, json: bool) -> ExitCode {
    if !json {
        print!("{}", table::table(results));
        return ExitCode::SUCCESS;
    }
    match serde_json::to_string_pretty(results) {
        Ok(document) => {
            println!("{document}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
