//! Rows of a scenario that can be traced.

use crate::error::ScenarioError;
use taut_measure::trace::{Recorder, Tracer};
use taut_sim::single_queue_bench::{Rule, SingleQueueConfig, observe_with};
use taut_sim::world::WireFrame;

type Trace<'a> = Box<dyn FnOnce(&mut Recorder<'_>) -> Result<(), ScenarioError> + 'a>;

/// Runs a row, with a callback for each frame on its wire.
type Look<'a> = Box<dyn FnOnce(&mut dyn FnMut(&WireFrame)) -> Result<(), ScenarioError> + 'a>;

/// The wire between two hosts.
pub(crate) struct Wire<'a> {
    pub rate_bits_per_s: u64,
    pub look: Look<'a>,
}

/// A row whose queue can be traced: it is run again, with a recorder.
pub struct TraceRow<'a> {
    pub(crate) name: String,
    pub(crate) limit: String,
    pub(crate) trace: Trace<'a>,
    pub(crate) wire: Option<Wire<'a>>,
}

impl<'a> TraceRow<'a> {
    /// Creates a row with its name, its limit, and the function that runs it.
    pub fn new(
        name: impl Into<String>,
        limit: impl Into<String>,
        trace: impl FnOnce(&mut Recorder<'_>) -> Result<(), ScenarioError> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            limit: limit.into(),
            trace: Box::new(trace),
            wire: None,
        }
    }

    /// Adds the wire between two hosts, for captures.
    pub fn with_wire(
        mut self,
        rate_bits_per_s: u64,
        look: impl FnOnce(&mut dyn FnMut(&WireFrame)) -> Result<(), ScenarioError> + 'a,
    ) -> Self {
        self.wire = Some(Wire {
            rate_bits_per_s,
            look: Box::new(look),
        });
        self
    }

    /// Creates a row that runs a single bench.
    pub fn bench(name: impl Into<String>, bench: SingleQueueConfig, rule: Rule) -> Self {
        Self::new(
            name,
            rule.to_string(),
            move |recorder: &mut Recorder<'_>| {
                observe_with(&bench, &rule, Tracer(Some(recorder)))?;
                Ok(())
            },
        )
    }
}
