//! The options of the experiment, and the rows that they select.

use std::fmt;

use clap::Args;
use taut_path::AnyLimit;
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

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct ForwardCase {
    /// Rate of the slow link.
    pub rate: Rate,
    /// The discipline of the forwarder; the kernel's is behind the shaper.
    pub qdisc: &'static str,
    /// The limit of `taut forward`; `None` for the kernel's bridge.
    pub limit: Option<AnyLimit>,
}

/// The discipline of the kernel behind the shaper.
const KERNEL_QDISC: &str = "pfifo_fast";
/// One queue with the capacity of the kernel's queue.
const ONE_FIFO: &str = "pfifo limit 1000";
const FAIR: &str = "fq_codel ecn";

impl ForwardCase {
    pub const fn is_kernel(&self) -> bool {
        self.limit.is_none()
    }

    /// Returns the limit, or `none` for the kernel.
    pub fn limit_name(&self) -> String {
        let limit = self.limit.as_ref();
        limit.map_or_else(|| "none".to_owned(), AnyLimit::to_string)
    }
}

/// The name in progress lines and legends.
impl fmt::Display for ForwardCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, qdisc, limit } = self;
        match limit {
            None => write!(f, "{rate}, the kernel's bridge"),
            Some(limit) => write!(f, "{rate}, taut, {qdisc}, limit {limit}"),
        }
    }
}

/// Returns the rows, grouped by rate: the kernel, and `taut forward` with each of its parts and
/// with both.
pub fn cases(experiment: &Forward) -> Vec<ForwardCase> {
    let of_rate = |&rate| {
        let forwarders = [
            (KERNEL_QDISC, None),
            (FAIR, Some(AnyLimit::off())),
            (ONE_FIFO, Some(AnyLimit::dql())),
            (FAIR, Some(AnyLimit::dql())),
            (FAIR, Some(AnyLimit::taut())),
        ];
        forwarders.map(|(qdisc, limit)| ForwardCase { rate, qdisc, limit })
    };
    experiment.rates.iter().flat_map(of_rate).collect()
}
