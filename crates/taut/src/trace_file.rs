//! The file that a live run's trace goes to.

use std::process::ExitCode;

use taut_measure::trace::{Head, Tapes};

pub use taut_report::output_file::{PcapFile, TraceFile};

/// Writes what the queues of a live run did, if a trace is wanted and there was a row.
pub fn write_tapes(
    tapes: &Tapes,
    file: &TraceFile,
    scenario: &str,
    seed: u64,
) -> Result<(), ExitCode> {
    if tapes.is_empty() {
        return Ok(());
    }
    file.write(|out| {
        if !tapes.is_whole() {
            return Err(file.too_long());
        }
        let head = Head {
            scenario: scenario.to_owned(),
            seed,
            taut_version: env!("CARGO_PKG_VERSION").to_owned(),
            sampled_hz: None,
        };
        tapes.write(&head, out)
    })
}
