//! `taut replay`: the traffic of a trace under other limits.

pub mod options;

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::sync::Arc;

use taut_report::document::Document;
use taut_scenarios::replay;
use taut_scenarios::run::{AnyRun, all_cores};

use crate::{missing, sim};
use options::Replay;
use taut_report::emit::{self, Form};
use taut_report::over_time::charts;
use taut_report::page::{Origin, Page};
use taut_report::text::text;
use taut_report::{exit, say, stdout};

/// `taut replay`.
pub fn run(options: &Replay) -> ExitCode {
    let run = match read(options) {
        Ok(run) => Arc::new(run),
        Err(code) => return code,
    };
    let report = options.report.as_deref();
    let checked = emit::check("report", report);
    let spared = emit::check_spared(report.into_iter(), &[&options.file]);
    if let Err(code) = checked.and(spared) {
        return code;
    }
    let interrupt = match sim::cases::run_cases(vec![run.clone()], all_cores(), |_| {}) {
        Ok(interrupt) => interrupt,
        Err(failed) => return failed,
    };
    let mut document = run.document();
    document.interrupted = interrupt.is_some();
    let form = if options.json {
        Form::Json
    } else {
        Form::Table
    };
    let shown = emit::emit(
        &document,
        form,
        options.report.as_deref(),
        || text(&document, stdout::columns()),
        || page(&document, options),
    );
    match interrupt {
        Some(interrupt) => emit::interrupted(interrupt.exit_code(), document.rows.len(), shown),
        None => shown,
    }
}

/// Reads the selected queues of the trace.
fn read(options: &Replay) -> Result<replay::Replay, ExitCode> {
    let path = options.file.display();
    let fail = |code: u8, error: String| {
        say!("taut: {path}: {error}");
        ExitCode::from(code)
    };
    let file = File::open(&options.file)
        .map_err(|error| exit::fail(exit::FAILED, missing::unreadable(&options.file, &error)))?;
    replay::Replay::new(BufReader::new(file), options.settings()).map_err(|error| {
        let code = if error.is_io() {
            exit::FAILED
        } else {
            exit::USAGE
        };
        fail(code, error.to_string())
    })
}

fn page<'d>(document: &'d Document, options: &Replay) -> Page<'d> {
    let (charts, left_out) = charts(document);
    Page {
        document,
        origin: Origin::Simulated,
        about: "the traffic of a trace under other limits",
        charts,
        remark: (left_out > 0).then(|| format!("{left_out} more charts are not drawn.")),
        command: options.command(),
    }
}
