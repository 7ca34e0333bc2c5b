//! The settings of a live run.

use std::path::PathBuf;

use taut_path::AnyLimit;
use taut_report::output_file::TraceFile;
use taut_scenarios::rr_under_load::Settings;

use super::driver::DriverKind;

/// What the user sets.
#[derive(Debug, Clone)]
pub struct Config {
    /// The settings that the simulated experiment has too.
    pub settings: Settings,
    /// The driver below the measured queue.
    pub driver: DriverKind,
    /// Whether the thread that moves packets asks for real-time priority.
    pub real_time: bool,
    /// Seed of the emulated NIC.
    pub seed: u64,
    /// Where the page goes.
    pub report: Option<PathBuf>,
    /// Where the trace goes.
    pub trace: TraceFile,
    /// The command that repeats the run.
    pub command: String,
}

impl Config {
    /// How long one row takes besides its setup.
    pub fn row_ns(&self) -> u64 {
        self.settings.end_ns()
    }

    /// Whether the published figures are of this experiment.
    pub fn is_published(&self) -> bool {
        self.driver == DriverKind::Emulated && self.settings.is_published()
    }
}

/// The limits of the rows with a limit: Linux's, unless the user set others.
pub fn limits(set: &[AnyLimit]) -> Vec<AnyLimit> {
    match set {
        [] => vec![AnyLimit::dql()],
        set => set.to_vec(),
    }
}
