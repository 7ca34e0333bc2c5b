//! `taut replay`: the traffic of a trace under other limits.

pub mod options;

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::sync::Arc;

use taut_scenarios::replay;
use taut_scenarios::run::{AnyRun, all_cores};

use crate::sim::scenario::over_time_page;
use crate::{missing, sim};
use options::Replay;
use taut_report::emit::{self, Form};
use taut_report::text::text;
use taut_report::{exit, stdout};

/// `taut replay`.
pub fn run(options: &Replay) -> Result<ExitCode, ExitCode> {
    let run = Arc::new(read(options)?);
    emit::check("report", options.report.path.as_deref())?;
    let report = options.report.path.as_deref();
    emit::check_spared(report.into_iter(), &[&options.file])?;
    let interrupt = sim::cases::run_cases(vec![run.clone()], all_cores(), |_| {})?;
    let mut document = run.document();
    document.interrupted = interrupt.is_some();
    let shown = emit::emit(
        &document,
        Form::json_or_table(options.json),
        report,
        || text(&document, stdout::columns()),
        || over_time_page(&document, "the traffic of a trace under other limits", None),
    );
    Ok(match interrupt {
        Some(interrupt) => emit::interrupted(interrupt.exit_code(), document.rows.len(), shown),
        None => shown,
    })
}

/// Reads the selected queues of the trace.
fn read(options: &Replay) -> Result<replay::Replay, ExitCode> {
    let file = File::open(&options.file)
        .map_err(|error| exit::fail(exit::FAILED, missing::unreadable(&options.file, &error)))?;
    replay::Replay::new(BufReader::new(file), options.settings()).map_err(|error| {
        let code = match error.is_io() {
            true => exit::FAILED,
            false => exit::USAGE,
        };
        exit::fail(code, format_args!("{}: {error}", options.file.display()))
    })
}
