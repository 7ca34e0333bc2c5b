//! Where results go: stdout, and a report if one is wanted.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

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

impl Output {
    /// Fails before the run if the report's directory cannot be.
    pub fn check(&self) -> Result<(), ExitCode> {
        match &self.report {
            Some(path) => file::check(path).map_err(|error| report_failed(path, &error)),
            None => Ok(()),
        }
    }

    /// Prints `data`, and writes the page that `html` makes.
    pub fn emit(&self, data: &str, html: impl FnOnce() -> String) -> ExitCode {
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
