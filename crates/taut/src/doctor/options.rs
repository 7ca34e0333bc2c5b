//! What `taut doctor` accepts.

use clap::Args;

use crate::observe::options::{Selection, parse_period};

/// Judges every queue's byte limit: what is wrong, how one sees it, what to do.
///
/// The queues are watched for a moment while whatever runs goes on: taut sends nothing and
/// changes nothing. A queue without traffic is not judged, which is no error; start the traffic that
/// matters first.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Doctor {
    #[command(flatten)]
    pub selection: Selection,

    /// How long to watch
    #[arg(short, long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    pub time: u64,

    /// Print one JSON document
    #[arg(short, long)]
    pub json: bool,

    /// Show each rule that found nothing, too
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    /// Exit with 3 for a warning, too
    #[arg(long)]
    pub strict: bool,

    /// Say why a rule is, where its threshold is from and what to do
    #[arg(long, value_name = "RULE", exclusive = true)]
    pub explain: Option<String>,

    /// List the rules, one a line
    #[arg(long, exclusive = true)]
    pub rules: bool,
}

fn parse_time(text: &str) -> Result<u64, String> {
    const MOST_NS: u64 = 600_000_000_000;
    match parse_period(text) {
        Ok(ns) if ns > MOST_NS => Err("allowed: 1ms to 600s".to_owned()),
        ns => ns,
    }
}

const AFTER_HELP: &str = "\
Times need a unit (2s), rates are as tc reads them (1gbit).
Exit codes: 0 nothing is bad, 1 failed (no such device), 2 bad usage, 3 something is bad
(with --strict: or worth a warning), 77 cannot run here.";
