//! Search for the smallest sufficient fixed budget.

use crate::error::ScenarioError;
use taut_sim::bisection::smallest_above;

/// Minimum utilisation of the link for a sufficient budget.
const ENOUGH: f64 = 0.999;

/// The smallest sufficient fixed budget, and its mean bytes in flight.
pub struct SmallestBudget {
    pub(super) bytes: Option<u32>,
    pub(super) mean_bytes: f64,
}

impl SmallestBudget {
    /// Searches in steps, up to the first step at or above `max_bytes`; a larger budget never has
    /// a lower utilisation. `with` returns utilisation and mean bytes in flight for a budget.
    pub(super) fn find(
        step_bytes: u32,
        max_bytes: u32,
        with: impl Fn(u32) -> Result<(f64, f64), ScenarioError>,
    ) -> Result<Self, ScenarioError> {
        let max = max_bytes / step_bytes + 1;
        let mut mean_bytes = 0.0;
        let steps = smallest_above(0, max + 1, 1, |steps| {
            let (utilisation, in_flight_bytes) = with(steps * step_bytes)?;
            let is_enough = utilisation >= ENOUGH;
            if is_enough {
                mean_bytes = in_flight_bytes;
            }
            Ok::<_, ScenarioError>(is_enough)
        })?;
        Ok(Self {
            bytes: (steps <= max).then_some(steps * step_bytes),
            mean_bytes,
        })
    }
}
