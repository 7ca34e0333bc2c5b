//! Sends frames with xdpilone, with and without a byte limit. See README.md.

mod rings;
#[allow(unsafe_code, reason = "memory that the kernel reads")]
mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    xsk_bench::run::<rings::Rings>()
}
