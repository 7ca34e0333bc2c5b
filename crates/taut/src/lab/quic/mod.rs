//! QUIC under load: bulk, and a small request of high priority each 50 ms through the same endpoint.

mod case;
#[cfg(feature = "quic")]
mod charts;
mod options;
#[cfg(feature = "quic")]
mod peers;
#[cfg(feature = "quic")]
mod results;
#[cfg(feature = "quic")]
mod row;
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
    use crate::report::page::{Origin, Page};
    use crate::report::text;

    if let Err(failed) = output::check("report", options.report.as_deref()) {
        return failed;
    }
    let ran = super::with_privilege(|| {
        interrupt::note()?;
        let mut progress = super::progress::Progress::new(cases.len());
        let mut ran = Vec::new();
        for case in cases {
            progress.begin(case);
            ran.push(row::run(options, case)?);
            progress.clear();
            if interrupt::noted().is_some() {
                break;
            }
        }
        Ok(ran)
    });
    let ran = match ran {
        Ok(ran) => ran,
        Err(code) => return code,
    };
    // After the last row there was nothing left to interrupt.
    let interrupt = interrupt::noted().filter(|_| ran.len() < cases.len());
    let document = results::document(options, &ran, interrupt.is_some());
    let form = if options.json {
        Form::Json
    } else {
        Form::Table
    };
    let text = || text::text(&document, stdout::columns());
    let html = || {
        let page = Page {
            document: &document,
            origin: Origin::Live,
            about: results::ABOUT,
            charts: &charts::charts(&ran),
            remark: None,
            command: &command(options),
        };
        page.html()
    };
    let shown = output::emit(&document, form, options.report.as_deref(), text, html);
    match interrupt {
        Some(interrupt) => output::interrupted(interrupt, ran.len(), shown),
        None => shown,
    }
}

/// What does the same again.
#[cfg(feature = "quic")]
fn command(options: &LabQuic) -> String {
    let mut line = format!(
        "taut lab quic --rate {} --topology {} --duration {}",
        options.rate,
        options.topology.name(),
        options.duration
    );
    for only in &options.only {
        line += &format!(" --only {only:?}");
    }
    line
}

/// What a run would do, for `--dry-run`.
fn plan(options: &LabQuic, cases: &[case::Case]) -> String {
    let mut text = format!(
        "quic: bulk and a request of 100 bytes each 50 ms over {}, {}\n\
         would make network namespaces with veths and a TBF for each row, held by this process alone\n",
        options.rate,
        options.topology.name(),
    );
    for case in cases {
        text += &format!(
            "would run {case}: {} ms and a warm-up\n",
            options.duration.0 / 1_000_000
        );
    }
    text
}
