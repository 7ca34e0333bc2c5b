//! Options of a simulation, and its output besides the table.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use taut_report::document::Document;
use taut_report::page::{Origin, command_line};
use taut_scenarios::run::{AnyRun, all_cores};
use taut_scenarios::show::{page, text};
use taut_scenarios::sweep::Swept;
use taut_scenarios::tracing::{self, Tap};

use super::progress::progress_line;
use taut_linux::interrupt::{self, Interrupt};
use taut_report::emit::{self, Form};
use taut_report::output_file::{PcapFile, ReportFile, TraceFile};
use taut_report::{exit, stdout};

/// Options of all scenarios.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Seed of all random numbers [default: 1]
    ///
    /// Scenarios without random input (jitter, loss, random traces) give the same results for every
    /// seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    #[command(flatten)]
    pub output: Output,
}

/// Options of a run, and of its output besides the table.
#[derive(Debug, Clone, Default, Args)]
pub struct Output {
    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Print the rows as comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// Print each row as a JSON object, one per line
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub json_lines: bool,

    #[command(flatten)]
    pub report: ReportFile,

    /// Rows to run in parallel; results do not depend on it [default: cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,

    /// Run with each value of a setting or of seed (repeatable: all combinations)
    ///
    /// KEY is a setting of crates/scenarios/files/SCENARIO.toml. A value with a comma needs double
    /// quotes, and a list needs brackets. Quote it for the shell:
    /// --sweep 'rates=["1gbit"],["1mbit"]'. Not with --report, --trace or --pcap.
    #[arg(long, value_name = "KEY=A,B", conflicts_with_all = ["report", "trace", "pcap"])]
    pub sweep: Vec<Swept>,

    /// Store finished runs in FILE; skip those it already has
    ///
    /// A run is one combination of the swept values, with all its rows. An interrupt discards only
    /// unfinished runs, so prefer many short runs, such as --sweep seed=1,2,3. Not with --report,
    /// --trace or --pcap.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "trace", "pcap"])]
    pub resume: Option<PathBuf>,

    #[command(flatten)]
    pub pcap: PcapFile,

    /// Capture only rows whose name contains TEXT [default: all]
    #[arg(long, value_name = "TEXT", requires = "pcap")]
    pub pcap_row: Option<String>,

    #[command(flatten)]
    pub trace: TraceFile,

    /// Trace only rows whose name contains TEXT [default: all]
    #[arg(long, value_name = "TEXT", requires = "trace")]
    pub trace_row: Option<String>,
}

/// Writes the events of the selected tap and rows of `run`. Returns the number of bytes.
fn tap(run: &dyn AnyRun, selected: (Tap, &str), out: &mut dyn Write) -> io::Result<u64> {
    let check = || match interrupt::noted() {
        Some(_) => Err(io::Error::other("interrupted")),
        None => Ok(()),
    };
    Ok(tracing::write(
        run,
        selected,
        out,
        &check,
        &mut progress_line(),
    )?)
}

impl Output {
    /// Fails if the run would overwrite one of `inputs`.
    pub fn spares(&self, inputs: &[impl AsRef<Path>]) -> Result<(), ExitCode> {
        emit::check_spared(self.files().chain(self.resume.as_deref()), inputs)
    }

    /// Returns the number of threads that run cases.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(all_cores, usize::from)
    }

    /// Returns `true` if settings are swept or finished runs are stored.
    pub fn is_sweep(&self) -> bool {
        !self.sweep.is_empty() || self.resume.is_some()
    }

    /// Returns the files that are written at the end of the run.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.report.path, &self.trace.path, &self.pcap.path];
        files.into_iter().filter_map(|file| file.as_deref())
    }

    /// Fails before the run if a file cannot be written, or no row can be traced.
    pub fn check(&self, run: &dyn AnyRun) -> Result<(), ExitCode> {
        let files: Vec<&Path> = self.files().collect();
        if let Some(twice) = (1..files.len()).find(|&at| files[..at].contains(&files[at])) {
            let file = files[twice].display();
            let message =
                format_args!("{file} would be written twice; name a file of its own for each");
            return Err(exit::fail(exit::USAGE, message));
        }
        emit::check("report", self.report.path.as_deref())?;
        emit::check("trace", self.trace.path.as_deref())?;
        emit::check("capture", self.pcap.path.as_deref())?;
        let paths = [&self.trace.path, &self.pcap.path];
        for (path, (tap, row)) in paths.into_iter().zip(self.taps()) {
            if path.is_some() {
                let checked = tracing::check(run, tap, row);
                checked.map_err(|error| exit::fail(exit::USAGE, error))?;
            }
        }
        Ok(())
    }

    /// Returns the rows of a trace and of a capture.
    fn taps(&self) -> [(Tap, &str); 2] {
        [
            (Tap::Queue, self.trace_row.as_deref().unwrap_or_default()),
            (Tap::Wire, self.pcap_row.as_deref().unwrap_or_default()),
        ]
    }

    /// Returns the form of the output.
    pub fn form(&self) -> Form {
        match (self.json, self.csv, self.json_lines) {
            (true, ..) => Form::Json,
            (_, true, _) => Form::Csv,
            (.., true) => Form::JsonLines,
            _ => Form::Table,
        }
    }

    /// Prints the document of `run`, and writes its page. After an interrupt, no trace is written,
    /// and the exit code is that of the interrupt.
    pub fn emit(
        &self,
        run: &dyn AnyRun,
        interrupt: Option<Interrupt>,
        seed: Option<u64>,
    ) -> ExitCode {
        let document = Document {
            interrupted: interrupt.is_some(),
            ..run.document()
        };
        let shown = emit::emit(
            &document,
            self.form(),
            self.report.path.as_deref(),
            || text(&document, stdout::columns()),
            || page(&document, Origin::Simulated, command_line(seed)),
        );
        let Some(interrupt) = interrupt else {
            let [queue, wire] = self.taps();
            let written = self.trace.write(|out| tap(run, queue, out));
            let written = written.and_then(|()| self.pcap.write(|out| tap(run, wire, out)));
            return written.err().unwrap_or(shown);
        };
        emit::interrupted(interrupt.exit_code(), document.rows.len(), shown)
    }
}
