//! Sources of completion traces: files and synthetic traces.

use crate::pattern::families::{self, Times};
use crate::pattern::published;
use taut_sim::completion_trace::CompletionTrace;

/// Returns the names of all synthetic traces.
pub fn names() -> impl Iterator<Item = &'static str> {
    let families = families::ALL.iter().map(|family| family.name);
    published::NAMES.into_iter().chain(families)
}

/// Returns the static name of a synthetic trace.
pub(super) fn find(name: &str) -> Option<&'static str> {
    names().find(|known| *known == name)
}

/// A trace, or its name and times.
pub(super) enum TraceSource {
    /// A trace from a file.
    File(Box<CompletionTrace>),
    /// A synthetic trace.
    Named(&'static str, Times),
}

impl TraceSource {
    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::File(trace) => &trace.id,
            Self::Named(name, _) => name,
        }
    }

    /// Returns the trace for a seed. Seed 1 creates the published six exactly.
    pub fn trace(&self, seed: u64) -> CompletionTrace {
        match self {
            Self::File(trace) => (**trace).clone(),
            Self::Named(name, times) => {
                let family = families::ALL.iter().find(|family| family.name == *name);
                let published = || published::make(name, seed.wrapping_sub(1));
                let family = || family.map(|family| family.pattern(seed, *times));
                published()
                    .or_else(family)
                    .unwrap_or_else(|| unreachable!("the name was validated"))
            }
        }
    }

    /// Returns how many of `seeds` differ.
    pub const fn seeds(&self, seeds: u32) -> u32 {
        match self {
            Self::File(_) => 1,
            Self::Named(..) => seeds,
        }
    }
}
