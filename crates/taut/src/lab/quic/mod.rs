//! QUIC under load: bulk, and a small request of high priority each 50 ms through the same endpoint.

mod case;
#[cfg(feature = "quic")]
mod charts;
mod options;
#[cfg(feature = "quic")]
mod peers;
#[cfg(feature = "quic")]
mod relay;
#[cfg(feature = "quic")]
mod results;
#[cfg(feature = "quic")]
mod rounds;
#[cfg(feature = "quic")]
mod row;
#[cfg(feature = "quic")]
mod summary;
#[cfg(feature = "quic")]
mod world;

use std::process::ExitCode;

pub use options::LabQuic;

use crate::exit;
use crate::stdout;
use crate::talk::say;

/// `taut lab quic`.
pub fn quic(options: &LabQuic) -> ExitCode {
    let cases = case::cases(&options.only);
    if cases.is_empty() {
        say!("taut: --only {:?}: no such variant", options.only);
        return ExitCode::from(exit::USAGE);
    }
    if options.dry_run {
        return stdout::print(&plan(options, &cases));
    }
    run(options, &cases)
}

#[cfg(not(feature = "quic"))]
fn run(_: &LabQuic, _: &[case::Case]) -> ExitCode {
    say!(
        "taut: this build has no QUIC: its TLS compiles C. Build with `cargo build --release -p taut \
         --features quic`"
    );
    ExitCode::from(exit::CANNOT_RUN_HERE)
}

#[cfg(feature = "quic")]
fn run(options: &LabQuic, cases: &[case::Case]) -> ExitCode {
    use crate::interrupt;
    use crate::output::{self, Form};
    use taut_report::page::{Origin, Page};
    use taut_report::text;

    if let Err(failed) = output::check("report", options.report.as_deref()) {
        return failed;
    }
    let rows = match super::with_privilege(|| run_all(options, cases)) {
        Ok(rows) => rows,
        Err(code) => return code,
    };
    // After the last row there was nothing left to interrupt.
    let all = rows.iter().map(rounds::Rounds::count).sum::<usize>() == rounds(options, cases);
    let interrupt = interrupt::noted().filter(|_| !all);
    let document = results::document(options, &rows, interrupt.is_some());
    let form = if options.json {
        Form::Json
    } else {
        Form::Table
    };
    let text = || text::text(&document, stdout::columns());
    let page = || Page {
        document: &document,
        origin: Origin::Live,
        about: results::ABOUT,
        charts: charts::charts(&rows),
        remark: Some(charts::REMARK.to_owned()),
        command: command(options),
    };
    let shown = output::emit(&document, form, options.report.as_deref(), text, page);
    match interrupt {
        Some(interrupt) => output::interrupted(interrupt, rows.len(), shown),
        None => shown,
    }
}

/// The rows that were run at least once, each as often as there was time for.
#[cfg(feature = "quic")]
fn run_all(options: &LabQuic, cases: &[case::Case]) -> anyhow::Result<Vec<rounds::Rounds>> {
    crate::interrupt::note()?;
    let mut progress = super::progress::Progress::new(rounds(options, cases));
    let mut rows: Vec<_> = cases.iter().copied().map(rounds::Rounds::new).collect();
    'rounds: for round in 1..=options.rounds {
        for row in &mut rows {
            progress.begin(&format!("{}, round {round}", row.case));
            let ran = row::run(options, &row.case);
            progress.clear();
            match ran? {
                Some(ran) => row.push(ran),
                None => break 'rounds,
            }
        }
    }
    rows.retain(|row| row.count() > 0);
    Ok(rows)
}

#[cfg(feature = "quic")]
fn rounds(options: &LabQuic, cases: &[case::Case]) -> usize {
    cases.len() * options.rounds as usize
}

/// What does the same again.
#[cfg(feature = "quic")]
fn command(options: &LabQuic) -> String {
    let mut line = format!(
        "taut lab quic --rate {} --topology {} --distance {} --rounds {} --duration {}",
        options.rate,
        options.topology.name(),
        options.distance,
        options.rounds,
        options.duration
    );
    if options.falls {
        line += " --falls";
    }
    for only in &options.only {
        line += &format!(" --only {only:?}");
    }
    line
}

/// What a run would do, for `--dry-run`.
fn plan(options: &LabQuic, cases: &[case::Case]) -> String {
    let falls = if options.falls {
        ", a fifth of it in the middle third"
    } else {
        ""
    };
    let mut text = format!(
        "quic: bulk and a request of 100 bytes each 50 ms over {}{falls}, {}, {} away\n\
         would make network namespaces with veths and a TBF for each row, held by this process alone\n",
        options.rate,
        options.topology.name(),
        options.distance,
    );
    let times = if options.rounds == 1 { "" } else { "s" };
    for case in cases {
        text += &format!(
            "would run {case}: {} time{times} {} ms and a warm-up\n",
            options.rounds,
            options.duration.0 / 1_000_000
        );
    }
    text
}
