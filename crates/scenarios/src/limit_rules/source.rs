//! Sources of completion traces: files and synthetic traces.

use crate::pattern::{Family, Times, synthetic};
use taut_sim::completion_trace::CompletionTrace;

/// Returns the names of all synthetic traces.
pub fn names() -> impl Iterator<Item = &'static str> {
    synthetic().map(|family| family.name)
}

/// A trace, or its family and times.
pub(super) enum TraceSource {
    /// A trace from a file.
    File(Box<CompletionTrace>),
    /// A synthetic trace.
    Synthetic(&'static Family, Times),
}

impl TraceSource {
    /// Returns its name.
    pub fn name(&self) -> &str {
        match self {
            Self::File(trace) => &trace.id,
            Self::Synthetic(family, _) => family.name,
        }
    }

    /// Returns the trace for a seed.
    pub fn trace(&self, seed: u64) -> CompletionTrace {
        match self {
            Self::File(trace) => (**trace).clone(),
            Self::Synthetic(family, times) => family.pattern(seed, *times),
        }
    }

    /// Returns how many of `seeds` differ.
    pub const fn seeds(&self, seeds: u32) -> u32 {
        match self {
            Self::File(_) => 1,
            Self::Synthetic(..) => seeds,
        }
    }
}
