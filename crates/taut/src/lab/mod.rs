//! Experiments with real traffic.

pub mod control;
mod emulated;
pub mod forward;
mod frames;
mod kernel_tcp;
mod load;
pub mod options;
mod packet_ring;
mod progress;
pub mod quic;
pub mod ring;
mod router;
mod row;
mod tap_source;
mod world;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::interrupt::{self, Interrupt};
use crate::output::{self, Form};
use crate::rr::charts::Drawn;
use crate::rr::results::{Carrier, Parameters, document};
use crate::rr::{command, late, page, table};
use crate::talk::say;
use crate::trace_file::write_tapes;
use crate::{exit, stdout};
use options::{DriverKind, RrUnderLoad};
use progress::Progress;
use taut_measure::trace::Tapes;
use taut_report::page::Origin;
use taut_scenarios::rr_under_load::{Case, Row};

/// `taut lab rr-under-load`.
pub fn rr_under_load(options: &RrUnderLoad) -> ExitCode {
    let cases = match options.cases() {
        Ok(cases) => cases,
        Err(error) => {
            say!("taut: {error}");
            return ExitCode::from(exit::USAGE);
        }
    };
    if options.dry_run {
        return stdout::print(&plan(options, &cases));
    }
    let writable = output::check("report", options.report.as_deref());
    if let Err(failed) = writable.and_then(|()| options.trace.check()) {
        return failed;
    }
    match with_privilege(|| run(options, &cases)) {
        Ok(found) => show(options, &found),
        Err(code) => code,
    }
}

/// What the rows gave, as far as they were finished.
struct Found {
    ran: Vec<row::Ran>,
    tapes: Tapes,
    interrupt: Option<Interrupt>,
}

/// Prints what was found, and writes the page and the trace that are wanted.
fn show(options: &RrUnderLoad, found: &Found) -> ExitCode {
    let experiment = &options.experiment;
    let carrier = Carrier {
        driver: options.driver.name(),
        rate_bits_per_s: options.rate_bits_per_s(),
    };
    let (rows, drawn): (Vec<Row>, Vec<Drawn>) = (found.ran.iter())
        .map(|ran| (ran.row.clone(), drawn(ran)))
        .unzip();
    let interrupted = found.interrupt.is_some();
    let limits = options.limits();
    let mut document = document(experiment, &limits, carrier, &rows, interrupted);
    document
        .notes
        .extend(late::note(&rows, experiment.cadence.0));
    let is_published = Parameters::of(experiment, &limits, carrier).is_published();
    let form = if experiment.json {
        Form::Json
    } else {
        Form::Table
    };
    let text = || table::text(&document, &rows, is_published, stdout::columns());
    let page = || {
        let command = command(options);
        page::page(&document, Origin::Live, &drawn, options.row_ns(), command)
    };
    let shown = output::emit(&document, form, options.report.as_deref(), text, page);
    let traced = write_tapes(
        &found.tapes,
        &options.trace,
        "lab rr-under-load",
        experiment.seed,
    );
    let shown = traced.err().unwrap_or(shown);
    match found.interrupt {
        Some(interrupt) => output::interrupted(interrupt, rows.len(), shown),
        None => shown,
    }
}

fn drawn(ran: &row::Ran) -> Drawn<'_> {
    Drawn {
        case: ran.row.case(),
        curve: &ran.row.curve,
        latency_ns: &ran.latency_ns,
    }
}

const NAME: &str = "taut lab rr-under-load";

/// What does the same again.
fn command(options: &RrUnderLoad) -> String {
    let mut line = NAME.to_owned();
    if let Some(published) = RrUnderLoad::published() {
        line = command::line(&line, &options.experiment, &published.experiment);
    }
    if options.driver != DriverKind::Emulated {
        line += &format!(" --driver {}", options.driver.name());
    }
    if options.no_real_time {
        line += " --no-real-time";
    }
    line
}

/// Runs what needs privilege; says what is missing, or what failed.
fn with_privilege<T>(run: impl FnOnce() -> anyhow::Result<T>) -> Result<T, ExitCode> {
    if let Err(error) = taut_linux::ensure_privilege() {
        say!("taut: {error}");
        return Err(ExitCode::from(exit::CANNOT_RUN_HERE));
    }
    run_with_privilege(run)
}

/// The same, with the privilege that the process has.
fn run_with_privilege<T>(run: impl FnOnce() -> anyhow::Result<T>) -> Result<T, ExitCode> {
    run().map_err(|error| {
        say!("taut: {error:#}");
        if lacks_privilege_or_feature(&error) {
            say!("taut: {WHAT_TO_DO}");
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

fn run(options: &RrUnderLoad, cases: &[Case]) -> anyhow::Result<Found> {
    interrupt::note()?;
    let mut progress = Progress::new(cases.len());
    let mut ran = Vec::with_capacity(cases.len());
    let mut tapes = Tapes::new(options.trace.max_bytes());
    for case in cases {
        progress.begin(case);
        let row = row::run(options, case, tapes.left_events(), &mut progress);
        progress.clear();
        if let Some(mut row) = row? {
            let tape = row.tape.take();
            tapes.push(&case.to_string(), &case.limit.to_string(), tape);
            ran.push(row);
        }
        if interrupt::noted().is_some() {
            break;
        }
    }
    // After the last row there was nothing left to interrupt.
    let interrupt = interrupt::noted().filter(|_| ran.len() < cases.len());
    Ok(Found {
        ran,
        tapes,
        interrupt,
    })
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
