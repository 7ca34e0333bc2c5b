//! The `taut` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    taut::run(std::env::args_os(), taut_path::Registry::new())
}
