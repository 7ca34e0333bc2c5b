//! Options of `taut lab forward`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_lab::experiment::{self, Wanted};
use taut_lab::forward::Forward;
use taut_measure::DEFAULT_SEED;
use taut_path::units::{Rate, Time};
use taut_scenarios::validation::STREAMS;

use crate::parse::{DURATIONS, RATES, count_in, within};

/// Options of `taut lab forward`.
#[derive(Debug, Clone, Args)]
pub struct LabForward {
    /// Rate of the slow link (repeatable) [default: 100mbit, 20mbit]
    #[arg(long = "rate", value_name = "RATE", value_parser = within(RATES))]
    pub rates: Vec<Rate>,

    /// Rate of the fast link
    #[arg(long, value_name = "RATE", default_value_t = Rate(1_000_000_000),
          value_parser = within(RATES))]
    pub fast_rate: Rate,

    /// Bulk TCP streams (1 to 4000)
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count_in(STREAMS))]
    pub streams: u32,

    /// Measurement time of each row, after its warm-up
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(5_000),
          value_parser = within(DURATIONS))]
    pub duration: Time,

    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    /// Write a report to FILE too: one HTML page that works offline
    ///
    /// FILE.md is a Markdown page with separate charts, FILE.svg only the charts: FILE-1.svg,
    /// FILE-2.svg.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Print the plan without running it
    #[arg(long)]
    pub dry_run: bool,
}

impl LabForward {
    /// `taut lab forward`.
    pub fn run(&self) -> ExitCode {
        let wanted = Wanted {
            json: self.json,
            dry_run: self.dry_run,
        };
        let forward = Forward {
            rates: self.rates.clone(),
            fast: self.fast_rate,
            streams: self.streams,
            duration: self.duration,
            seed: self.seed,
            report: self.report.clone(),
        };
        experiment::run(forward, wanted)
    }
}
