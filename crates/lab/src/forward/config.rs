//! The options of the experiment.

use clap::Args;
use taut_path::units::{Rate, Time};
use taut_report::output_file::ReportFile;
use taut_report::value::{count_in, within};
use taut_scenarios::validation::{DURATIONS, RATES, STREAMS};

use crate::experiment::OutputOptions;

/// Options of `taut lab forward`.
#[derive(Debug, Clone, Args)]
pub struct Forward {
    /// Rate of the slow link (repeatable) [default: 100mbit, 20mbit]
    #[arg(long = "rate", value_name = "RATE", value_parser = within(RATES),
          default_values_t = [Rate(100_000_000), Rate(20_000_000)], hide_default_value = true)]
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

    #[command(flatten)]
    pub report: ReportFile,

    #[command(flatten)]
    pub output: OutputOptions,
}
