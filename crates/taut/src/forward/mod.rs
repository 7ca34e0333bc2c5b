//! `taut forward`: a transparent bridge of two interfaces, with a taut queue in each direction.

pub mod options;
mod run;
mod summary;
pub mod talk;

use std::process::ExitCode;

use taut_relay::offload;
use taut_report::{exit, say};

pub use offload::COMMAND as OFFLOAD_COMMAND;
pub use run::forward;

/// Runs the helper process that keeps receive offloads off.
pub fn keep_offloads(devices: &[String], tags: bool) -> ExitCode {
    match offload::keep_offloads(devices, tags, &|line| say!("taut: {line}")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::fail(exit::FAILED, error),
    }
}
