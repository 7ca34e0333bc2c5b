//! The least fixed budget that is enough.

use crate::error::ScenarioError;
use taut_sim::bisection::smallest_above;

/// The part of the link's time that a budget must let the queues use to be enough.
const ENOUGH: f64 = 0.999;

/// The least fixed budget that is enough, and what was in flight with it on average.
pub struct SmallestBudget {
    pub(super) bytes: Option<u32>,
    pub(super) mean_bytes: f64,
}

impl SmallestBudget {
    /// In steps, to the first that is not below `most_bytes`: a larger budget never wastes more.
    /// `with` says of a budget which part of the link's time the queues use, and what is in flight
    /// on average.
    pub(super) fn find(
        step_bytes: u32,
        most_bytes: u32,
        with: impl Fn(u32) -> Result<(f64, f64), ScenarioError>,
    ) -> Result<Self, ScenarioError> {
        let most = most_bytes / step_bytes + 1;
        let mut mean_bytes = 0.0;
        let steps = smallest_above(0, most + 1, 1, |steps| {
            let (utilisation, in_flight_bytes) = with(steps * step_bytes)?;
            let is_enough = utilisation >= ENOUGH;
            if is_enough {
                mean_bytes = in_flight_bytes;
            }
            Ok::<_, ScenarioError>(is_enough)
        })?;
        Ok(Self {
            bytes: (steps <= most).then_some(steps * step_bytes),
            mean_bytes,
        })
    }
}
