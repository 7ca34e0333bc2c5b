//! The transmit queue with its halves on two threads, over an AF_PACKET ring: what it carries, and
//! whether a packet or a wake-up is lost.

mod carrier;
mod halves;
mod late;
mod options;
mod progress;
mod results;
mod run;
mod sleeper;
mod standstill;
mod submit;
mod watchdog;

use std::process::ExitCode;

pub use options::TwoThreads;
use results::Results;
use run::Ran;

use crate::interrupt;
use crate::output;
use crate::talk::say;
use crate::trace_file::write_tapes;
use crate::{exit, stdout};
use taut_measure::trace::Tapes;

/// `taut lab two-threads`.
pub fn two_threads(options: &TwoThreads) -> ExitCode {
    if options.dry_run {
        return stdout::print(&plan(options));
    }
    if let Err(failed) = options.trace.check() {
        return failed;
    }
    let mut tapes = Tapes::new(options.trace.max_bytes());
    let ran = super::with_privilege(|| {
        interrupt::note()?;
        run::run(options, tapes.left_events())
    });
    let Ran { row, tape } = match ran {
        Ok(ran) => ran,
        Err(code) => return code,
    };
    super::tell_stall("two-threads", row.longest_stall_ns);
    let problems = row.problems();
    // The row is whole, only of a shorter time.
    let interrupt = interrupt::noted();
    let printed = Results::new(options, row, interrupt.is_some()).print(options.json);
    tapes.push("two threads", &options.limit.to_string(), tape);
    let traced = write_tapes(&tapes, &options.trace, "lab two-threads", options.seed);
    let printed = traced.err().unwrap_or(printed);
    if problems.is_empty() {
        return match interrupt {
            Some(interrupt) => output::interrupted(interrupt, 1, printed),
            None => printed,
        };
    }
    for problem in problems {
        say!("taut: {problem}");
    }
    ExitCode::from(exit::DOES_NOT_HOLD)
}

/// What a run would do, for `--dry-run`.
fn plan(options: &TwoThreads) -> String {
    let shaped = match options.rate.0 {
        Some(rate) => format!("a TBF of {rate}"),
        None => "no shaper".to_owned(),
    };
    format!(
        "two-threads: limit {}, ring {}, completions every {} us\n\
         would make 2 network namespaces with a veth between and {shaped}, held by this process \
         alone\n\
         would run {} for {} ms\n",
        options.limit,
        options.ring,
        options.cadence.0 / 1000,
        options.threads(),
        options.duration.0 / 1_000_000,
    )
}
