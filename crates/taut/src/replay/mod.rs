//! `taut replay`: the traffic of a trace under other limits.

pub mod options;

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

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
    let file = File::open(&options.file)
        .map_err(|error| exit::fail(exit::FAILED, missing::unreadable(&options.file, &error)))?;
    let run = replay::prepare(BufReader::new(file), options.settings());
    let run = run.map_err(|error| failed(format_args!("{}: ", options.file.display()), &error))?;
    output.spares(&[&options.file])?;
    show(run, &output, None)
}
