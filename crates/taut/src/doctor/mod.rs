//! `taut doctor`: a verdict for each queue, with its evidence and what to do.

mod evidence;
#[cfg(test)]
mod fixtures;
mod judge;
pub mod options;
mod output;
pub mod rules;
mod trend;
mod watch;

use std::process::ExitCode;

use crate::observe::gather::{Asked, gather};
use crate::talk::say;
use crate::{exit, stdout};
use evidence::Evidence;
use options::Doctor;
use rules::{Finding, RULES, Rule, Verdict};

/// What one rule says of one queue, or of a device without any.
#[derive(Debug)]
struct Judged {
    device: String,
    queue: Option<u32>,
    rule: &'static Rule,
    finding: Finding,
}

/// `taut doctor`.
pub fn doctor(options: &Doctor) -> ExitCode {
    if options.rules {
        return stdout::print(&output::list());
    }
    if let Some(name) = &options.explain {
        return match RULES.iter().find(|rule| rule.name == name) {
            Some(rule) => stdout::print(&output::explain(rule, stdout::columns())),
            None => {
                let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
                say!("taut: no rule {name:?}; there are: {}", names.join(", "));
                ExitCode::from(exit::USAGE)
            }
        };
    }
    match examine(options) {
        Ok(evidence) => show(options, &evidence),
        Err(code) => code,
    }
}

fn examine(options: &Doctor) -> Result<Vec<Evidence>, ExitCode> {
    let failed = |error: String| {
        say!("taut: {error}");
        ExitCode::from(exit::FAILED)
    };
    let (sysfs, namespace) = options.selection.place.open()?;
    let before = gather(&sysfs, &options.selection, Asked::All).map_err(failed)?;
    let queues = before.devices.iter().map(|it| it.rows.len()).sum();
    let length = watch::Length::new(options.time, queues);
    let watched = watch::watch(&sysfs, &before, &length);
    // What vanished meanwhile is judged by what was seen of it.
    let after = gather(&sysfs, &options.selection, Asked::WhatIsLeft).map_err(failed)?;
    Ok(evidence::collect(
        before,
        &after,
        watched,
        &length,
        namespace.as_ref(),
    ))
}

fn show(options: &Doctor, evidence: &[Evidence]) -> ExitCode {
    let judged: Vec<Judged> = evidence.iter().flat_map(judge_all).collect();
    let text = match options.json {
        true => output::json(&judged, evidence),
        false => output::text(&judged, evidence, options.verbose, stdout::columns()),
    };
    let least = match options.strict {
        true => Verdict::Warn,
        false => Verdict::Bad,
    };
    let wrong = judged.iter().any(|it| it.finding.verdict >= least);
    let code = match wrong {
        true => ExitCode::from(exit::DOES_NOT_HOLD),
        false => ExitCode::SUCCESS,
    };
    stdout::answer(stdout::write(&text), code)
}

fn judge_all(evidence: &Evidence) -> Vec<Judged> {
    let judged = |rule: &'static Rule| {
        Some(Judged {
            device: evidence.device.clone(),
            queue: evidence.queue(),
            rule,
            finding: (rule.judge)(evidence)?,
        })
    };
    RULES.iter().filter_map(judged).collect()
}
