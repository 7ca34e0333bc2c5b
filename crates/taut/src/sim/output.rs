//! What is wanted of a simulation besides its table.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_path::units;
use taut_sim::results::Document;
use taut_sim::scenario::quantity::Size;
use taut_sim::scenario::tracing::TraceRowsError;

use crate::exit;
use crate::interrupt::{self, Interrupt};
use crate::output::{self, Form, write_failed};
use crate::report::file;
use crate::talk::say;

/// What is wanted besides the table.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// Print the rows as comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Write a report too: one HTML page that works offline
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Write every event of the rows' queues too, for which the rows are run again
    ///
    /// docs/trace-format.md says what is in the file. It grows with the rows, their rate and their
    /// duration: some 7 MB for each second of a full 1 Gbit/s link. How many bytes were written
    /// is said at the end.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Trace only rows that have this in their name
    #[arg(
        long,
        value_name = "TEXT",
        requires = "trace",
        default_value = "",
        hide_default_value = true
    )]
    pub trace_row: String,

    /// A longer trace is not written
    #[arg(long, value_name = "SIZE", requires = "trace", default_value = "256m",
          value_parser = parse_size)]
    pub trace_most: Size,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            csv: false,
            report: None,
            trace: None,
            trace_row: String::new(),
            trace_most: Size(0),
        }
    }
}

fn parse_size(text: &str) -> Result<Size, String> {
    let bytes = units::parse_size_bytes(text).map_err(|error| error.to_string())?;
    Ok(Size(bytes))
}

/// Refuses what would be too much.
struct Bounded<'a> {
    file: &'a mut File,
    left_bytes: u64,
}

impl Write for Bounded<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        // Half a trace is none, so that nothing of it is left.
        if interrupt::noted().is_some() {
            return Err(io::Error::other("interrupted"));
        }
        let left_bytes = self.left_bytes.checked_sub(buffer.len() as u64);
        self.left_bytes = left_bytes.ok_or_else(|| {
            io::Error::other(
                "longer than --trace-most; allow more, choose rows with --trace-row, or run a \
                 file with shorter durations",
            )
        })?;
        self.file.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What can be traced: says before the run whether its rows can be, and writes their events.
pub trait Traceable {
    /// Whether there are rows with `part` in their names.
    fn check(&self, part: &str) -> Result<(), TraceRowsError>;
    /// Writes them, and says how many bytes that were.
    fn write(&self, part: &str, out: &mut dyn Write) -> Result<u64, TraceRowsError>;
}

impl Output {
    /// Fails before the run if a file's directory cannot be, or there is nothing to trace.
    pub fn check(&self, traceable: &dyn Traceable) -> Result<(), ExitCode> {
        output::check("report", self.report.as_deref())?;
        output::check("trace", self.trace.as_deref())?;
        if self.trace.is_none() {
            return Ok(());
        }
        traceable.check(&self.trace_row).map_err(|error| {
            say!("taut: {error}");
            ExitCode::from(exit::USAGE)
        })
    }

    /// Writes the trace, if one is wanted.
    fn write_trace(&self, traceable: &dyn Traceable) -> Result<(), ExitCode> {
        let Some(path) = &self.trace else {
            return Ok(());
        };
        let mut bytes = 0;
        let fill = |file: &mut File| {
            let mut buffered = BufWriter::new(Bounded {
                file,
                left_bytes: self.trace_most.0,
            });
            let written = traceable.write(&self.trace_row, &mut buffered);
            bytes = written.map_err(|error| match error {
                TraceRowsError::Io(error) => error,
                other => io::Error::other(other),
            })?;
            buffered.flush()
        };
        file::replace_with(path, fill).map_err(|error| write_failed("trace", path, &error))?;
        say!("taut: wrote a trace of {bytes} bytes to {}", path.display());
        Ok(())
    }

    /// The form of what is printed; `json` is an option of its own, shared with the lab.
    pub fn form(&self, json: bool) -> Form {
        match (json, self.csv) {
            (true, _) => Form::Json,
            (false, true) => Form::Csv,
            (false, false) => Form::Table,
        }
    }

    /// Prints a document, for people as `text` has it, and writes the page that `html` makes. What
    /// interrupted the run, if anything did, decides the exit code; then nothing is traced.
    pub fn emit(
        &self,
        form: Form,
        (document, interrupt): (&Document, Option<Interrupt>),
        traceable: &dyn Traceable,
        text: impl FnOnce() -> String,
        html: impl FnOnce() -> String,
    ) -> ExitCode {
        let shown = output::emit(document, form, self.report.as_deref(), text, html);
        match interrupt {
            Some(interrupt) => output::interrupted(interrupt, document.rows.len(), shown),
            None => self.write_trace(traceable).err().unwrap_or(shown),
        }
    }
}
