//! Where results go: stdout, and a report if one is wanted.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_sim::results::Document;

use crate::report::csv::csv;
use crate::report::file;
use crate::{exit, stdout};

/// What is wanted besides the table.
#[derive(Debug, Clone, Default, Args)]
pub struct Output {
    /// Print the rows as comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Write a report too: one HTML page that works offline
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Table,
    /// One document.
    Json,
    /// The rows.
    Csv,
}

impl Output {
    /// Fails before the run if the report's directory cannot be.
    pub fn check(&self) -> Result<(), ExitCode> {
        match &self.report {
            Some(path) => file::check(path).map_err(|error| report_failed(path, &error)),
            None => Ok(()),
        }
    }

    /// The form of what is printed; `json` is an option of its own, shared with the lab.
    pub fn form(&self, json: bool) -> Form {
        match (json, self.csv) {
            (true, _) => Form::Json,
            (false, true) => Form::Csv,
            (false, false) => Form::Table,
        }
    }

    /// Prints a document, for people as `text` has it, and writes the page that `html` makes.
    pub fn emit(
        &self,
        form: Form,
        document: &Document,
        text: impl FnOnce() -> String,
        html: impl FnOnce() -> String,
    ) -> ExitCode {
        let data = match form {
            Form::Json => serde_json::to_string_pretty(document).map(|text| text + "\n"),
            Form::Csv => Ok(csv(document)),
            Form::Table => Ok(text()),
        };
        match data {
            Ok(data) => self.emit_data(&data, html),
            Err(error) => {
                eprintln!("taut: {error}");
                ExitCode::from(exit::FAILED)
            }
        }
    }

    fn emit_data(&self, data: &str, html: impl FnOnce() -> String) -> ExitCode {
        let printed = stdout::print(data);
        // The report is worth having even where stdout is full.
        let reported = match &self.report {
            Some(path) => file::replace(path, &html()).map_err(|error| report_failed(path, &error)),
            None => Ok(()),
        };
        reported.err().unwrap_or(printed)
    }
}

fn report_failed(path: &std::path::Path, error: &std::io::Error) -> ExitCode {
    eprintln!("taut: cannot write the report {}: {error}", path.display());
    ExitCode::from(exit::FAILED)
}
