//! Sends frames with xsk-rs, with and without a byte limit. See README.md.

mod rings;
#[allow(unsafe_code, reason = "the functions of xsk-rs for frames are unsafe")]
mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    xsk_bench::run::<rings::Rings>()
}
