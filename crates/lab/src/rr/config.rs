//! The settings of a live run.

use std::path::PathBuf;

use taut_path::AnyLimit;
use taut_report::output_file::TraceFile;
use taut_scenarios::rr_under_load::Settings;

use super::driver::DriverKind;

/// The settings of the user.
#[derive(Debug, Clone)]
pub struct Config {
    /// The settings in common with the simulated experiment.
    pub settings: Settings,
    /// The driver below the measured queue.
    pub driver: DriverKind,
    /// Run the packet thread at real-time priority.
    pub real_time: bool,
    /// Seed of the emulated NIC.
    pub seed: u64,
    /// The path of the report.
    pub report: Option<PathBuf>,
    /// The trace file.
    pub trace: TraceFile,
    /// The command that repeats the run.
    pub command: String,
}

impl Config {
    /// Returns the time of one row without its setup.
    pub fn row_ns(&self) -> u64 {
        self.settings.end_ns()
    }

    /// Returns `true` if the published results are of this experiment.
    pub fn is_published(&self) -> bool {
        self.driver == DriverKind::Emulated && self.settings.is_published()
    }
}

/// Returns the limits of the rows with a limit: dql, unless the user set others.
pub fn limits(set: &[AnyLimit]) -> Vec<AnyLimit> {
    match set {
        [] => vec![AnyLimit::dql()],
        set => set.to_vec(),
    }
}
