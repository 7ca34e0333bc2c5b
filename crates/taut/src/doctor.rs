//! `taut doctor`: a verdict for each queue, with evidence and advice.

mod groups;
mod output;

use std::ops::RangeInclusive;
use std::process::ExitCode;

use clap::Args;
use taut_observe::judge::{Evidence, Judgement, RULES, Verdict, examine, judge};
use taut_path::units::Time;
use taut_report::{exit, stdout};

use groups::QueueJudgements;

use crate::missing;
use crate::parse::within;
use crate::selection::SelectionArgs;

/// Check every queue's byte limit; print findings, evidence and advice
///
/// The command samples the queues under the current traffic. It sends nothing and changes nothing.
/// It needs no privilege, except with -n.
/// A queue without traffic is not judged, which is not an error: start the relevant traffic first.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Doctor {
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Sampling time
    #[arg(short = 't', long, value_name = "TIME", default_value = "2s",
          value_parser = within(WATCH_TIMES))]
    pub duration: Time,

    /// Print one JSON document
    #[arg(short, long)]
    pub json: bool,

    /// Show the rules without a finding too
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    /// Exit with 3 for a finding of the level warn too
    #[arg(long)]
    pub strict: bool,

    /// Explain a rule: its reason, the source of its threshold, advice
    #[arg(long, value_name = "RULE", exclusive = true)]
    pub explain: Option<String>,

    /// List the rules, one per line
    #[arg(long, exclusive = true)]
    pub rules: bool,
}

/// Sampling times.
const WATCH_TIMES: RangeInclusive<Time> = Time::ms(1)..=Time::ms(600_000);

const AFTER_HELP: &str = "\
Times need a unit (2s); rates are as in tc (1gbit).
Levels of findings: bad, warn, ok, not judged.
Exit codes: 0 no finding is bad, 1 failed (no such device), 2 bad usage, 3 at least one is (with
--strict: bad or warn), 77 a privilege or kernel feature is missing.
Examples:
  taut doctor eth0 --duration 10s
  taut doctor --explain no-limit";

/// `taut doctor`.
pub fn doctor(options: &Doctor) -> Result<ExitCode, ExitCode> {
    if options.rules {
        return Ok(stdout::print(&output::list()));
    }
    if let Some(name) = &options.explain {
        return Ok(explain(name));
    }
    let host = options.selection.place.open()?;
    let selection = options.selection.selection();
    let evidence = examine(&host, &selection, options.duration.0).map_err(exit::failed)?;
    Ok(show(options, &evidence))
}

fn explain(name: &str) -> ExitCode {
    if let Some(rule) = RULES.iter().find(|rule| rule.name == name) {
        return stdout::print(&output::explain(rule, stdout::columns()));
    }
    let names = RULES.iter().map(|rule| rule.name);
    exit::fail(exit::USAGE, missing::no_such("rule", name, names))
}

fn show(options: &Doctor, evidence: &[Evidence]) -> ExitCode {
    let judged: Vec<QueueJudgements> = evidence.iter().map(|it| (it, judge(it))).collect();
    let text = match options.json {
        true => output::json(&judged),
        false => output::text(&judged, options.verbose, stdout::columns()),
    };
    let threshold = match options.strict {
        true => Verdict::Warn,
        false => Verdict::Bad,
    };
    let is_wrong = |it: &Judgement| it.finding.verdict >= threshold;
    let code = match judged.iter().flat_map(|it| &it.1).any(is_wrong) {
        true => ExitCode::from(exit::DOES_NOT_HOLD),
        false => ExitCode::SUCCESS,
    };
    stdout::answer(stdout::write(&text), code)
}
