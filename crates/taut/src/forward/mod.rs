//! A transparent bridge of two interfaces, with a queue of ours in each direction.

pub mod options;
mod run;
mod summary;
pub mod talk;
mod view;

use std::process::ExitCode;

use taut_relay::offload;
use taut_report::{exit, say};

pub use offload::COMMAND as KEEPER;
pub use run::forward;

/// The process that keeps receive offloads off.
pub fn keep_offloads(devices: &[String], tags: bool) -> ExitCode {
    match offload::keep_offloads(devices, tags, &|line| say!("taut: {line}")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::fail(exit::FAILED, error),
    }
}
