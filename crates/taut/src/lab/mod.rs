//! Experiments with real traffic.

mod control;
mod emulated;
mod frames;
mod load;
mod meter;
pub mod options;
mod packet_ring;
mod progress;
mod published;
mod results;
mod router;
mod row;
mod table;
mod tap_source;
mod world;

use std::io;
use std::process::ExitCode;

use crate::exit;
use options::{Case, RrUnderLoad};
use progress::Progress;
use results::Results;

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
        print!("{}", plan(options, &cases));
        return ExitCode::SUCCESS;
    }
    if let Err(error) = taut_linux::ensure_privilege() {
        eprintln!("taut: {error}");
        return ExitCode::from(exit::CANNOT_RUN_HERE);
    }
    match run(options, &cases) {
        Ok(results) => print_results(options, &results),
        Err(error) => {
            eprintln!("taut: {error:#}");
            if lacks_privilege_or_feature(&error) {
                eprintln!("taut: {WHAT_TO_DO}");
                return ExitCode::from(exit::CANNOT_RUN_HERE);
            }
            ExitCode::from(exit::FAILED)
        }
    }
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
    for &case in cases {
        progress.begin(case);
        let row = row::run(options, case, &mut progress);
        progress.clear();
        rows.push(row?);
    }
    Ok(Results::new(options, rows))
}

fn print_results(options: &RrUnderLoad, results: &Results) -> ExitCode {
    let text = if options.json {
        match serde_json::to_string_pretty(results) {
            Ok(json) => json + "\n",
            Err(error) => {
                eprintln!("taut: {error}");
                return ExitCode::from(exit::FAILED);
            }
        }
    } else {
        table::table(options, results)
    };
    print!("{text}");
    ExitCode::SUCCESS
}

/// What a run would do, for `--dry-run`.
fn plan(options: &RrUnderLoad, cases: &[Case]) -> String {
    let mut text = format!(
        "rr-under-load: {} bulk streams and one request/response, {} of {} bit/s, ring {}, \
         completions every {} us, {}\n\
         would make {}, held by this process alone\n",
        options.streams,
        options.driver.name(),
        options.rate_bits_per_s(),
        options.ring,
        options.cadence / 1000,
        options.qdisc,
        world::devices(options.driver),
    );
    for case in cases {
        let limit = options.limit_of(*case);
        text += &format!(
            "would run {case} ({limit}): {} s\n",
            row::row_ns(options) / 1_000_000_000
        );
    }
    text
}
