//! Experiments with real traffic.

mod control;
mod emulated;
mod frames;
mod kernel_tcp;
mod load;
pub mod options;
mod packet_ring;
mod progress;
mod router;
mod row;
mod tap_source;
pub mod two_threads;
mod world;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::rr;
use crate::rr::results::{Carrier, Results};
use crate::{exit, stdout};
use options::RrUnderLoad;
use progress::Progress;
use taut_sim::scenario::rr_under_load::Case;

/// `taut lab rr-under-load`.
pub fn rr_under_load(options: &RrUnderLoad) -> ExitCode {
    let cases = match options.cases() {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("taut: {error}");
            return ExitCode::from(exit::USAGE);
        }
    };
    if options.dry_run {
        return stdout::print(&plan(options, &cases));
    }
    match with_privilege(|| run(options, &cases)) {
        Ok(results) => rr::print(&results, options.experiment.json),
        Err(code) => code,
    }
}

/// Runs what needs privilege; says what is missing, or what failed.
fn with_privilege<T>(run: impl FnOnce() -> anyhow::Result<T>) -> Result<T, ExitCode> {
    if let Err(error) = taut_linux::ensure_privilege() {
        eprintln!("taut: {error}");
        return Err(ExitCode::from(exit::CANNOT_RUN_HERE));
    }
    run().map_err(|error| {
        eprintln!("taut: {error:#}");
        if lacks_privilege_or_feature(&error) {
            eprintln!("taut: {WHAT_TO_DO}");
            return ExitCode::from(exit::CANNOT_RUN_HERE);
        }
        ExitCode::from(exit::FAILED)
    })
}

const WHAT_TO_DO: &str = "run as root, or where users may make user namespaces and open \
    /dev/net/tun; the kernel needs TUN/TAP, veth, and for af_packet the TBF discipline";

/// Whether the kernel refused something that no other options would get.
fn lacks_privilege_or_feature(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| {
            matches!(
                cause.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::Unsupported
            )
        })
}

fn run(options: &RrUnderLoad, cases: &[Case]) -> anyhow::Result<Results> {
    let mut progress = Progress::new(cases.len());
    let mut rows = Vec::with_capacity(cases.len());
    for case in cases {
        progress.begin(case);
        let row = row::run(options, case, &mut progress);
        progress.clear();
        rows.push(row?);
    }
    let carrier = Carrier {
        driver: options.driver.name(),
        rate_bits_per_s: options.rate_bits_per_s(),
    };
    Ok(Results::new(
        &options.experiment,
        &options.limits(),
        carrier,
        rows,
    ))
}

/// Says on stderr that packets waited too long in the device of `what`, if they did.
fn tell_stall(what: &str, longest_stall_ns: u64) {
    if longest_stall_ns > 0 {
        let ms = longest_stall_ns / 1_000_000;
        // What cannot be said is no reason to fail.
        let _ = writeln!(
            io::stderr(),
            "taut: {what}: packets were in the device for up to {ms} ms; it stood still, or the \
             ring is far too large for its rate"
        );
    }
}

/// What a run would do, for `--dry-run`.
fn plan(options: &RrUnderLoad, cases: &[Case]) -> String {
    let mut text = format!(
        "rr-under-load: {} bulk streams and one request/response, {} of {} bit/s, ring {}, \
         completions every {} us, {}\n\
         would make {}, held by this process alone\n",
        options.experiment.streams,
        options.driver.name(),
        options.rate_bits_per_s(),
        options.experiment.ring,
        options.experiment.cadence.0 / 1000,
        options.experiment.qdisc,
        world::devices(options.driver),
    );
    for case in cases {
        let row_s = options.row_ns() / 1_000_000_000;
        text += &format!("would run {case}: {row_s} s\n");
    }
    text
}
