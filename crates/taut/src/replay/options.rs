//! Options of `taut replay`.

use std::path::PathBuf;

use clap::Args;
use taut_path::units::Rate;
use taut_report::output_file::ReportFile;
use taut_scenarios::replay::ReplaySettings;
use taut_sim::single_queue_bench::Rule;

use crate::parse::{LINK_RATES, within};

/// Replay the traffic of a trace under other limits
///
/// Reads a trace of every event of a queue, as written by --trace FILE of `taut sim SCENARIO` and
/// `taut lab rr-under-load`. Some scenarios have no trace. Each packet is enqueued at its time into
/// a queue with another limit. Prints bytes in flight, and the time in which the link was idle
/// while packets waited. The replay is open-loop: the senders do not react.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Replay {
    /// Trace file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Limit (repeatable; taut help limits) [default: off, dql, taut]
    ///
    /// Also such as "dql every 1ms": completions are coalesced to this interval.
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true)]
    pub limits: Vec<Rule>,

    /// Only rows (queues of the trace) whose name contains TEXT [default: all]
    #[arg(long, value_name = "TEXT")]
    pub row: Option<String>,

    /// Link rate [default: maximum of the trace]
    #[arg(long = "rate", value_name = "RATE", value_parser = within(LINK_RATES))]
    pub link_rate: Option<Rate>,

    /// Ring size in slots, one for each packet
    #[arg(long, value_name = "N", default_value_t = ReplaySettings::DEFAULT_RING,
          value_parser = clap::value_parser!(u32).range(1..=ReplaySettings::MAX_RING.into()))]
    pub ring: u32,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub report: ReportFile,
}

impl Replay {
    /// Returns the settings of the replay.
    pub fn settings(&self) -> ReplaySettings {
        ReplaySettings {
            file: self.file.display().to_string(),
            row: self.row.clone().unwrap_or_default(),
            rules: match self.limits.is_empty() {
                true => ReplaySettings::default_rules(),
                false => self.limits.clone(),
            },
            rate_bits_per_s: self.link_rate.map(|rate| rate.0),
            ring: self.ring,
        }
    }
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 bad usage or a trace that cannot be replayed,
130 or 143 interrupted.
Examples:
  taut replay queue.trace
  taut replay queue.trace --limit dql --limit taut:99% --rate 1gbit --report replay.html";
