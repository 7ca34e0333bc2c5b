//! The settings of a live run.

use clap::{Args, ValueEnum};
use taut_path::AnyLimit;
use taut_path::units::Rate;
use taut_report::output_file::{ReportFile, TraceFile};
use taut_scenarios::rr_under_load::Settings;
use taut_scenarios::schema::Schema;

use crate::experiment::OutputOptions;

/// A driver below the measured queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum DriverKind {
    /// An emulated e1000 between two TAP devices
    Emulated,
    /// An AF_PACKET transmit ring into a veth with a kernel TBF
    AfPacket,
}

impl DriverKind {
    /// Returns the name in options and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::AfPacket => "af_packet",
        }
    }

    /// Returns the rate of the link, unless the user sets another.
    pub fn default_rate(self) -> Rate {
        match self {
            Self::Emulated => Settings::defaults().rate,
            Self::AfPacket => Rate(100_000_000),
        }
    }
}

/// The options that the simulated experiment does not have.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Driver
    #[arg(long, value_enum, default_value_t = DriverKind::Emulated)]
    pub driver: DriverKind,

    /// Run the packet thread at normal priority
    ///
    /// Without privilege, the thread always has normal priority. On a busy machine it is then late.
    #[arg(long)]
    pub no_real_time: bool,

    #[command(flatten)]
    pub report: ReportFile,

    #[command(flatten)]
    pub trace: TraceFile,

    #[command(flatten)]
    pub output: OutputOptions,
}

/// The settings of the user.
#[derive(Debug, Clone)]
pub struct Config {
    /// The settings in common with the simulated experiment.
    pub settings: Settings,
    /// Seed of the emulated NIC.
    pub seed: u64,
    pub options: Options,
}

impl Config {
    /// Returns `true` if the published results are of this experiment.
    pub fn is_published(&self) -> bool {
        self.options.driver == DriverKind::Emulated && self.settings.is_published()
    }
}

/// Returns the limits of the rows with a limit: dql, unless the user set others.
pub fn limits(set: &[AnyLimit]) -> Vec<AnyLimit> {
    match set {
        [] => vec![AnyLimit::dql()],
        set => set.to_vec(),
    }
}
