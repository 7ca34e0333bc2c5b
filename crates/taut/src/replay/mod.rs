//! `taut replay`: the traffic of a trace under other limits.

pub mod options;

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::sync::Arc;

use taut_scenarios::replay;

use crate::missing;
use crate::sim::cases::{failed, show};
use crate::sim::output::Output;
use options::Replay;
use taut_report::exit;

/// `taut replay`.
pub fn run(options: &Replay) -> Result<ExitCode, ExitCode> {
    let output = Output {
        json: options.json,
        report: options.report.clone(),
        ..Output::default()
    };
    let run = Arc::new(read(options)?);
    output.spares(&[&options.file])?;
    show(run, &output, None)
}

/// Reads the selected queues of the trace.
fn read(options: &Replay) -> Result<replay::Replay, ExitCode> {
    let file = File::open(&options.file)
        .map_err(|error| exit::fail(exit::FAILED, missing::unreadable(&options.file, &error)))?;
    let read = replay::Replay::new(BufReader::new(file), options.settings());
    read.map_err(|error| failed(format_args!("{}: ", options.file.display()), &error))
}
