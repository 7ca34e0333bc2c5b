//! Offline optimum of a trace: the smallest fixed limit that reaches the target utilisation.

use taut_path::limit::Fixed;

use super::CompletionTrace;
use super::detail::Detail;
use super::run::observe;
use crate::bisection::smallest_multiple;
use crate::error::TestbedError;

/// Step of the optimum, in bytes: about a minimal frame, and smaller than an object.
pub const GRID_BYTES: u32 = 64;

/// Returns the smallest fixed limit, in steps of [`GRID_BYTES`], that reaches the target
/// utilisation of the trace; `None` if no fixed limit does.
///
/// # Errors
/// Returns the errors of [`observe`].
pub fn smallest_sufficient_limit(trace: &CompletionTrace) -> Result<Option<u32>, TestbedError> {
    trace.check(detail(trace))?;
    // With objects of one size, limits differ only by whole objects.
    let step = match trace.sizes[..] {
        [first, ref rest @ ..] if rest.iter().all(|&size| size == first) => first.max(GRID_BYTES),
        _ => GRID_BYTES,
    };
    // A multiple of the object size and the next multiple of the grid admit the same objects.
    let smallest = smallest_multiple(step, |bytes| is_enough(trace, bytes))?;
    Ok(smallest.map(|bytes| bytes.next_multiple_of(GRID_BYTES)))
}

fn is_enough(trace: &CompletionTrace, limit_bytes: u32) -> Result<bool, TestbedError> {
    let report = observe(trace, Fixed::bytes(limit_bytes), detail(trace))?;
    Ok(report.utilisation >= trace.utilisation)
}

/// Returns settings that measure only the utilisation and stop once the target is missed.
fn detail(trace: &CompletionTrace) -> Detail {
    Detail {
        sample_ns: 0,
        time_series: false,
        give_up_dry_ns: trace.max_dry_ns(),
        ..Detail::FULL
    }
}
