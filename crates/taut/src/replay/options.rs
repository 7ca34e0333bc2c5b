//! What `taut replay` accepts.

use std::path::PathBuf;

use clap::Args;
use taut_path::limit::limits_help;
use taut_path::units::Rate;
use taut_scenarios::replay::ReplaySettings;
use taut_sim::single_queue_bench::Rule;

use crate::parse::{LINK_RATES, within};
use crate::rr::command::quoted;

/// What if: the traffic of a trace under other rules.
///
/// Takes a trace of every event of a queue, such as `taut sim SCENARIO --trace FILE` and
/// `taut lab rr-under-load --trace FILE` write, and gives its packets, at their times, to a queue with another limit. What was in flight, how long the link
/// had nothing to send while packets waited. It is open-loop: the senders do not react.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct Replay {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// A rule, and so on for more [default: off, dql, need and taut]
    ///
    /// `RULE every TIME` hands completions on at a fixed period.
    #[arg(short, long = "limit", value_name = "RULE", allow_hyphen_values = true)]
    pub limits: Vec<Rule>,

    /// Only queues that have this in their names
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub row: String,

    /// The link's rate, instead of the most that the trace shows
    #[arg(long, value_name = "RATE", value_parser = within(LINK_RATES))]
    pub rate: Option<Rate>,

    /// Slots of the ring; each packet takes one
    #[arg(long, value_name = "N", default_value_t = ReplaySettings::DEFAULT_RING,
          value_parser = clap::value_parser!(u32).range(1..=ReplaySettings::MAX_RING.into()))]
    pub ring: u32,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Write a report too: one HTML page that works offline
    ///
    /// FILE.md is a Markdown page with its charts beside it, FILE.svg only the charts: FILE-1.svg, FILE-2.svg.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

impl Replay {
    /// What is replayed, and how.
    pub fn settings(&self) -> ReplaySettings {
        ReplaySettings {
            file: self.file.display().to_string(),
            row: self.row.clone(),
            rules: match self.limits.is_empty() {
                true => ReplaySettings::default_rules(),
                false => self.limits.clone(),
            },
            rate_bits_per_s: self.rate.map(|rate| rate.0),
            ring: self.ring,
        }
    }

    /// What gives the same again.
    pub fn command(&self) -> String {
        let mut line = format!("taut replay {}", quoted(&self.file.display().to_string()));
        for rule in &self.limits {
            line += &format!(" --limit {}", quoted(&rule.to_string()));
        }
        if !self.row.is_empty() {
            line += &format!(" --row {}", quoted(&self.row));
        }
        if let Some(rate) = self.rate {
            line += &format!(" --rate {rate}");
        }
        line + &format!(" --ring {}", self.ring)
    }
}

fn after_help() -> String {
    format!(
        "Rules:\n{}\n\
         Exit codes: 0 done, 1 failed, 2 bad usage or a trace that cannot be replayed (a sampled one),\n\
         130 or 143 interrupted.",
        limits_help()
    )
}
