//! Options of sweeps.

use std::path::{Path, PathBuf};

use clap::Args;
use taut_scenarios::run::all_cores;
use taut_scenarios::sweep::Swept;

/// The runs of a sweep, and how they are run.
#[derive(Debug, Clone, Default, Args)]
pub struct SweepOptions {
    /// Rows to run in parallel; results do not depend on it [default: cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Run with each value of a setting or of seed (repeatable: all combinations)
    ///
    /// KEY is a setting of crates/scenarios/files/SCENARIO.toml. A value with a comma needs double
    /// quotes, and a list needs brackets. Quote it for the shell:
    /// --sweep 'rates=["1gbit"],["1mbit"]'. Not with --report, --trace or --pcap.
    #[arg(long, value_name = "KEY=A,B", conflicts_with_all = ["report", "trace", "pcap"])]
    pub(super) sweep: Vec<Swept>,

    /// Store finished runs in FILE; skip those it already has
    ///
    /// A run is one combination of the swept values, with all its rows. An interrupt discards only
    /// unfinished runs, so prefer many short runs, such as --sweep seed=1,2,3. Not with --report,
    /// --trace or --pcap.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "trace", "pcap"])]
    pub(super) resume: Option<PathBuf>,
}

impl SweepOptions {
    /// Returns the number of threads that run cases.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(all_cores, usize::from)
    }

    /// Returns the file of finished runs.
    pub fn resume(&self) -> Option<&Path> {
        self.resume.as_deref()
    }

    /// Returns `true` if settings are swept or finished runs are stored.
    pub fn is_sweep(&self) -> bool {
        !self.sweep.is_empty() || self.resume.is_some()
    }
}
