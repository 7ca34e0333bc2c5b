//! Options of sweeps.

use std::path::{Path, PathBuf};

use clap::Args;
use taut_scenarios::run::all_cores;
use taut_scenarios::sweep::Swept;

/// How many runs there are, and how they are run.
#[derive(Debug, Clone, Default, Args)]
pub struct Many {
    /// Run so many rows at a time; the figures are the same [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Run each of these values of a setting, or of seed: KEY=A,B,...; said again, every combination
    ///
    /// A value with a comma is put into quotes, and a list into brackets: rates=["1gbit"],["1mbit"].
    #[arg(long, value_name = "KEY=A,B", conflicts_with_all = ["report", "trace", "pcap"])]
    pub(super) sweep: Vec<Swept>,

    /// Keep finished runs in this file, and take from there what was finished before
    ///
    /// A run is one combination of the swept values, with all its rows: more and shorter runs lose less when they are
    /// interrupted (--sweep seed=1,2,3 rather than --seeds 3).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "trace", "pcap"])]
    pub(super) resume: Option<PathBuf>,
}

impl Many {
    /// Threads that run cases.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(all_cores, usize::from)
    }

    /// The file of finished runs.
    pub fn resume(&self) -> Option<&Path> {
        self.resume.as_deref()
    }

    /// Whether there is more than one run, or some may be finished.
    pub fn is_wanted(&self) -> bool {
        !self.sweep.is_empty() || self.resume.is_some()
    }
}
