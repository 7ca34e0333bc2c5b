//! What a rule is compared with: the least fixed limit that keeps the promise on the same pattern.

use taut_path::limit::Fixed;

use super::detail::Detail;
use super::run::observe;
use super::{CompletionTrace, fixed};
use crate::error::TestbedError;
use crate::least::least_multiple;

/// The yardstick is a multiple of this: about a minimal frame, and less than one object decides.
pub const GRID_BYTES: u32 = 64;

/// The least fixed limit, in steps of [`GRID_BYTES`], with which the wire is busy for the
/// pattern's share of the time with something to send; `None` if no fixed limit is enough.
///
/// # Errors
/// As [`observe`].
pub fn smallest_sufficient_limit(pattern: &CompletionTrace) -> Result<Option<u32>, TestbedError> {
    pattern.check(detail(pattern))?;
    // With objects of one size, limits differ only by the whole objects that fit in.
    let (first, rest) = pattern
        .sizes
        .split_first()
        .ok_or(TestbedError::Missing("the pattern has no size"))?;
    let step = if rest.iter().all(|size| size == first) {
        (*first).max(GRID_BYTES)
    } else {
        GRID_BYTES
    };
    let least = least_multiple(step, |bytes| is_enough(pattern, bytes))?;
    Ok(least.map(|bytes| bytes.next_multiple_of(GRID_BYTES)))
}

fn is_enough(pattern: &CompletionTrace, limit_bytes: u32) -> Result<bool, TestbedError> {
    if let Some(utilisation) = fixed::utilisation(pattern, limit_bytes) {
        return Ok(utilisation.is_some_and(|it| it >= pattern.utilisation));
    }
    let seen = observe(pattern, Fixed::bytes(limit_bytes), detail(pattern))?;
    Ok(seen.utilisation >= pattern.utilisation)
}

/// Nothing but the share, and not longer than it can still be enough.
fn detail(pattern: &CompletionTrace) -> Detail {
    Detail {
        sample_ns: 0,
        course: false,
        give_up_dry_ns: pattern.most_dry_ns(),
        ..Detail::FULL
    }
}
