//! The output of a verb: a document on standard output, and a report if the user wants one.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::csv::csv;
use crate::document::Document;
use crate::page::Page;
use crate::save::files;
use crate::{exit, file, say, stdout};

/// The form of a document on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A table for people.
    Table,
    /// One JSON document.
    Json,
    /// The rows as comma-separated values.
    Csv,
    /// The rows as a JSON object on each line.
    JsonLines,
}

impl Form {
    /// Returns the form of a command that prints a table or a JSON document.
    pub const fn json_or_table(json: bool) -> Self {
        if json { Self::Json } else { Self::Table }
    }
}

/// Prints a document in `form`; `text` makes the table. If `report` is set, it saves the page that
/// `page` makes there. A run that was interrupted before its first row has no table and no report.
pub fn emit<'d>(
    document: &'d Document,
    form: Form,
    report: Option<&Path>,
    text: impl FnOnce() -> String,
    page: impl FnOnce() -> Page<'d>,
) -> ExitCode {
    let nothing = document.interrupted && document.rows.is_empty();
    let printed = match form {
        Form::Json => stdout::print_json(document),
        Form::Csv => stdout::print(&csv(document)),
        Form::JsonLines => stdout::print(&document.json_lines()),
        Form::Table if nothing => ExitCode::SUCCESS,
        Form::Table => stdout::print(&text()),
    };
    // The report is written even if standard output is full.
    match report.filter(|_| !nothing) {
        Some(path) => write_report(path, &page()).err().unwrap_or(printed),
        None => printed,
    }
}

fn write_report(path: &Path, page: &Page<'_>) -> Result<(), ExitCode> {
    for (path, content) in files(page, path) {
        let written = file::replace(&path, &content);
        written.map_err(|error| write_failed("report", &path, &error))?;
        wrote("report", &path);
    }
    Ok(())
}

/// Reports where a file was written.
pub fn wrote(what: &str, path: &Path) {
    let whole = std::fs::canonicalize(path);
    let whole = whole.as_deref().unwrap_or(path);
    say!("taut: wrote the {what} to {}", whole.display());
}

/// Checks before a run that the file at `path` can be written.
///
/// # Errors
/// The exit code, after a message, if it cannot.
pub fn check(what: &str, path: Option<&Path>) -> Result<(), ExitCode> {
    match path {
        Some(path) => file::check_early(path).map_err(|error| write_failed(what, path, &error)),
        None => Ok(()),
    }
}

/// Checks that no output would overwrite one of the `inputs`.
///
/// # Errors
/// The exit code, after a message, if one would.
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
            let message = format_args!("{file} is an input of this run; refusing to overwrite it");
            return Err(exit::fail(exit::USAGE, message));
        }
    }
    Ok(())
}

/// Reports the file that could not be written and returns the exit code.
pub fn write_failed(what: &str, path: &Path, error: &io::Error) -> ExitCode {
    let path = path.display();
    let message = format_args!("cannot write the {what} {path}: {error}");
    exit::fail(exit::FAILED, message)
}

/// Reports how many rows of an interrupted run were finished. Returns `code` if that is a failure,
/// else `interrupt_code`.
pub fn interrupted(interrupt_code: u8, finished_rows: usize, code: ExitCode) -> ExitCode {
    match finished_rows {
        0 => say!("taut: interrupted before any row was finished"),
        1 => say!("taut: interrupted; 1 row was finished"),
        rows => say!("taut: interrupted; {rows} rows were finished"),
    }
    if code == ExitCode::SUCCESS {
        ExitCode::from(interrupt_code)
    } else {
        code
    }
}
