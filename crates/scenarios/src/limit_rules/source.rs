//! Sources of workloads: files, synthetic traces, and a load.

use super::tcp_load::{self, TcpLoad};
use super::workload::Workload;
use crate::error::ScenarioError;
use crate::pattern::families::{self, Times};
use crate::pattern::published;
use taut_sim::completion_trace::CompletionTrace;

/// Returns the names of all workloads.
pub fn names() -> impl Iterator<Item = &'static str> {
    let families = families::ALL.iter().map(|family| family.name);
    let names = published::NAMES.into_iter().chain(families);
    names.chain([tcp_load::NAME])
}

/// Returns the static name of a workload.
pub(super) fn find(name: &str) -> Option<&'static str> {
    names().find(|known| *known == name)
}

/// A workload, or its name and times.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadSource {
    /// A trace from a file.
    File(Box<CompletionTrace>),
    /// A synthetic trace.
    Named(&'static str, Times),
    /// TCP between two hosts, with loss.
    Tcp(Times),
}

impl WorkloadSource {
    /// Returns the workload of this name.
    pub(super) fn named(name: &'static str, times: Times) -> Self {
        match name {
            tcp_load::NAME => Self::Tcp(times),
            name => Self::Named(name, times),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::File(pattern) => &pattern.id,
            Self::Named(name, _) => name,
            Self::Tcp(_) => tcp_load::NAME,
        }
    }

    /// Returns the workload for a seed. Seed 1 creates the published six exactly.
    pub(super) fn workload(&self, seed: u64) -> Result<Box<dyn Workload>, ScenarioError> {
        let pattern = match self {
            Self::Tcp(times) => return Ok(Box::new(TcpLoad::new(seed, *times)?)),
            Self::File(pattern) => (**pattern).clone(),
            Self::Named(name, times) => {
                let family = families::ALL.iter().find(|family| family.name == *name);
                let published = || published::make(name, seed.wrapping_sub(1));
                let family = || family.map(|family| family.pattern(seed, *times));
                published()
                    .or_else(family)
                    .unwrap_or_else(|| unreachable!("the name was validated"))
            }
        };
        Ok(Box::new(pattern))
    }

    /// Returns how many of `seeds` differ.
    pub const fn seeds(&self, seeds: u32) -> u32 {
        match self {
            Self::File(_) => 1,
            Self::Named(..) | Self::Tcp(_) => seeds,
        }
    }
}
