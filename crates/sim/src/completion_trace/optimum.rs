//! Offline optimum of a trace: the smallest fixed limit that reaches the target utilisation.

use taut_path::limit::Fixed;

use super::detail::Detail;
use super::run::observe;
use super::{CompletionTrace, fixed};
use crate::bisection::smallest_multiple;
use crate::error::TestbedError;

/// Step of the optimum, in bytes: about a minimal frame, and smaller than an object.
pub const GRID_BYTES: u32 = 64;

/// Returns the smallest fixed limit, in steps of [`GRID_BYTES`], that reaches the target
/// utilisation of the trace; `None` if no fixed limit does.
///
/// # Errors
/// Returns the errors of [`observe`].
pub fn smallest_sufficient_limit(pattern: &CompletionTrace) -> Result<Option<u32>, TestbedError> {
    pattern.check(detail(pattern))?;
    // With objects of one size, limits differ only by whole objects.
    let (first, rest) = pattern
        .sizes
        .split_first()
        .ok_or(TestbedError::Missing("the trace has no size"))?;
    let step = if rest.iter().all(|size| size == first) {
        (*first).max(GRID_BYTES)
    } else {
        GRID_BYTES
    };
    let smallest = smallest_multiple(step, |bytes| is_enough(pattern, bytes))?;
    Ok(smallest.map(|bytes| bytes.next_multiple_of(GRID_BYTES)))
}

fn is_enough(pattern: &CompletionTrace, limit_bytes: u32) -> Result<bool, TestbedError> {
    if let Some(utilisation) = fixed::utilisation(pattern, limit_bytes) {
        return Ok(utilisation.is_some_and(|it| it >= pattern.utilisation));
    }
    let seen = observe(pattern, Fixed::bytes(limit_bytes), detail(pattern))?;
    Ok(seen.utilisation >= pattern.utilisation)
}

/// Returns settings that measure only the utilisation and stop once the target is missed.
fn detail(pattern: &CompletionTrace) -> Detail {
    Detail {
        sample_ns: 0,
        time_series: false,
        give_up_dry_ns: pattern.max_dry_ns(),
        ..Detail::FULL
    }
}
