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
    let data = if as_json {
        json(results).map_err(|error| error.to_string())
    } else {
        let (seed, version) = (results.seed, results.taut_version);
        Ok(format!(
            "{}\nseed {seed}, taut {version}\n",
            table::table(results)
        ))
    };
    let printed = data.and_then(|data| stdout::write(&data).map_err(|error| error.to_string()));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
