//! Where results go: stdout, and a report if one is wanted.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use taut_report::document::Document;

use crate::interrupt::Interrupt;
use crate::talk::say;
use crate::{exit, stdout};
use taut_report::csv::csv;
use taut_report::file;

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Table,
    /// One document.
    Json,
    /// The rows.
    Csv,
    /// The rows, a JSON object on each line.
    JsonLines,
}

/// Prints a document, for people as `text` has it, and writes the page that `html` makes to
/// `report`, if that is wanted. Of an interrupted run only if any row was finished.
pub fn emit(
    document: &Document,
    form: Form,
    report: Option<&Path>,
    text: impl FnOnce() -> String,
    html: impl FnOnce() -> String,
) -> ExitCode {
    let nothing = document.interrupted && document.rows.is_empty();
    let data = match form {
        Form::Json => serde_json::to_string_pretty(document).map(|text| text + "\n"),
        Form::Csv => Ok(csv(document)),
        Form::JsonLines => Ok(document.json_lines()),
        Form::Table if nothing => Ok(String::new()),
        Form::Table => Ok(text()),
    };
    let printed = match data {
        Ok(data) => stdout::print(&data),
        Err(error) => {
            say!("taut: {error}");
            return ExitCode::from(exit::FAILED);
        }
    };
    // The report is worth having even where stdout is full.
    let reported = match report.filter(|_| !nothing) {
        Some(path) => write_report(path, &html()),
        None => Ok(()),
    };
    reported.err().unwrap_or(printed)
}

fn write_report(path: &Path, html: &str) -> Result<(), ExitCode> {
    file::replace(path, html).map_err(|error| write_failed("report", path, &error))?;
    let whole = std::fs::canonicalize(path);
    let whole = whole.as_deref().unwrap_or(path);
    say!("taut: wrote the report to {}", whole.display());
    Ok(())
}

/// Fails before the run if a file's directory cannot be.
pub fn check(what: &str, path: Option<&Path>) -> Result<(), ExitCode> {
    match path {
        Some(path) => file::check_early(path).map_err(|error| write_failed(what, path, &error)),
        None => Ok(()),
    }
}

/// Fails if one of the `inputs` would be written over.
pub fn check_spared<'a>(
    outputs: impl Iterator<Item = &'a Path>,
    inputs: &[impl AsRef<Path>],
) -> Result<(), ExitCode> {
    for output in outputs {
        let same = |input: &Path| match (output.canonicalize(), input.canonicalize()) {
            (Ok(output), Ok(input)) => output == input,
            _ => false,
        };
        if inputs.iter().any(|input| same(input.as_ref())) {
            let file = output.display();
            say!("taut: {file} is read, and would be written over; name another file");
            return Err(ExitCode::from(exit::USAGE));
        }
    }
    Ok(())
}

/// Says what could not be written.
pub fn write_failed(what: &str, path: &Path, error: &io::Error) -> ExitCode {
    say!("taut: cannot write the {what} {}: {error}", path.display());
    ExitCode::from(exit::FAILED)
}

/// Says what was shown of an interrupted run, and answers with its exit code: `code` if that is a
/// failure of its own.
pub fn interrupted(interrupt: Interrupt, finished_rows: usize, code: ExitCode) -> ExitCode {
    match finished_rows {
        0 => say!("taut: interrupted before any row was finished"),
        1 => say!("taut: interrupted; 1 row was finished"),
        rows => say!("taut: interrupted; {rows} rows were finished"),
    }
    if code == ExitCode::SUCCESS {
        ExitCode::from(interrupt.exit_code())
    } else {
        code
    }
}
