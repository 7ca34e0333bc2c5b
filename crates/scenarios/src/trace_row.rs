//! Rows of a scenario that can be traced.

use taut_measure::trace::{Recorder, Tracer};
use taut_path::units::Rate;
use taut_sim::single_queue_bench::{Rule, SingleQueueConfig, observe_with};
use taut_sim::world::{CLIENT, WireFrame, World};

use crate::error::ScenarioError;

/// The receiver of a row's events.
pub(crate) enum Receiver<'a, 'w> {
    /// Records the events of its queue.
    Queue(&'a mut Recorder<'w>),
    /// Is called for each frame on its wire.
    Wire(&'a mut dyn FnMut(&WireFrame)),
}

type RunRow<'a> = Box<dyn FnOnce(Receiver<'_, '_>) -> Result<(), ScenarioError> + 'a>;

/// A row whose queue can be traced: it is run again, with a receiver.
pub struct TraceRow<'a> {
    pub(crate) name: String,
    pub(crate) limit: String,
    /// The rate of the wire between two hosts; `None` without such a wire.
    pub(crate) wire: Option<Rate>,
    pub(crate) run: RunRow<'a>,
}

impl<'a> TraceRow<'a> {
    /// Creates a row that runs a single bench.
    pub(crate) fn bench(name: impl Into<String>, bench: SingleQueueConfig, rule: Rule) -> Self {
        Self {
            name: name.into(),
            limit: rule.to_string(),
            wire: None,
            run: Box::new(move |receiver| {
                if let Receiver::Queue(recorder) = receiver {
                    observe_with(&bench, &rule, Tracer(Some(recorder)))?;
                }
                Ok(())
            }),
        }
    }

    /// Creates a row that runs two hosts until `end_ns`; `world` creates them with their probes.
    pub(crate) fn two_hosts(
        (name, limit): (String, String),
        rate: Rate,
        end_ns: u64,
        world: impl for<'r, 'w> FnOnce(
            &mut dyn FnMut(usize) -> Tracer<'r, 'w>,
        ) -> Result<World<Tracer<'r, 'w>>, ScenarioError>
        + 'a,
    ) -> Self {
        Self {
            name,
            limit,
            wire: Some(rate),
            run: Box::new(move |receiver| match receiver {
                Receiver::Queue(recorder) => {
                    let mut world = world(&mut Tracer::of_queue(recorder, CLIENT))?;
                    Ok(world.run_until(end_ns)?)
                }
                Receiver::Wire(on_frame) => {
                    let mut world = world(&mut |_| Tracer(None))?;
                    Ok(world.run_until_seen(end_ns, on_frame)?)
                }
            }),
        }
    }
}
