//! The forwarder beside the kernel's own bridge: what a ping meets on the way from a fast link to a slow
//! one, while bulk streams fill it.

mod case;
mod charts;
mod options;
mod results;
mod row;
mod world;

use std::process::ExitCode;

pub use options::LabForward;

use super::progress::Progress;
use crate::interrupt;
use crate::output::{self, Form};
use crate::stdout;
use taut_report::page::{Origin, Page};
use taut_report::text;

const NAME: &str = "taut lab forward";

/// `taut lab forward`.
pub fn forward(options: &LabForward) -> ExitCode {
    let cases = options.cases();
    if options.dry_run {
        return stdout::print(&plan(options));
    }
    if let Err(failed) = output::check("report", options.report.as_deref()) {
        return failed;
    }
    let ran = super::with_privilege(|| {
        interrupt::note()?;
        let mut progress = Progress::new(cases.len());
        let mut ran = Vec::new();
        for case in &cases {
            progress.begin(case);
            let row = row::run(options, case, &mut progress);
            progress.clear();
            ran.extend(row?);
            if interrupt::noted().is_some() {
                break;
            }
        }
        Ok(ran)
    });
    match ran {
        Ok(ran) => show(options, &ran, cases.len()),
        Err(code) => code,
    }
}

fn show(options: &LabForward, ran: &[row::Ran], wanted_rows: usize) -> ExitCode {
    // After the last row there was nothing left to interrupt.
    let interrupt = interrupt::noted().filter(|_| ran.len() < wanted_rows);
    let document = results::document(options, ran, interrupt.is_some());
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
        charts: charts::charts(ran),
        remark: Some(charts::REMARK.to_owned()),
        command: command(options),
    };
    let shown = output::emit(&document, form, options.report.as_deref(), text, page);
    match interrupt {
        Some(interrupt) => output::interrupted(interrupt, ran.len(), shown),
        None => shown,
    }
}

/// What does the same again.
fn command(options: &LabForward) -> String {
    let mut line = NAME.to_owned();
    for rate in &options.rates {
        line += &format!(" --rate {rate}");
    }
    line + &format!(
        " --fast {} --streams {} --duration {}",
        options.fast, options.streams, options.duration
    )
}

/// What a run would do, for `--dry-run`.
fn plan(options: &LabForward) -> String {
    let mut text = format!(
        "forward: {} bulk streams and a ping each 5 ms from {} into a slower link\n\
         would make 3 network namespaces with a veth from the first to the second and one from there to \
         the third, each with a TBF, held by this process alone\n",
        options.streams, options.fast,
    );
    for case in options.cases() {
        let row_s = (row::WARM_UP_NS + options.duration.0) / 1_000_000_000;
        text += &format!("would run {case}: {row_s} s\n");
    }
    text
}
