//! What a rule is compared with: the least fixed limit that keeps the promise on the same pattern.

use taut_path::limit::Fixed;

use super::Pattern;
use super::run::{Detail, RunError, observe};

/// The yardstick is a multiple of this: about a minimal frame, and less than one object decides.
pub const GRID_BYTES: u32 = 64;

/// No yardstick is sought above: 2 s at 1 Gbit/s.
const MOST_BYTES: u32 = 1 << 28;

/// Where the search begins: a few packets.
const FIRST_BYTES: u32 = 1 << 13;

/// The least fixed limit, in steps of [`GRID_BYTES`], with which the wire is busy for the
/// pattern's share of the time with something to send; `None` if no fixed limit is enough.
///
/// # Errors
/// As [`observe`].
pub fn least_fixed(pattern: &Pattern) -> Result<Option<u32>, RunError> {
    // With objects of one size, limits differ only by the whole objects that fit in.
    let (first, rest) = pattern.sizes.split_first().ok_or(RunError::Empty("size"))?;
    let step = if rest.iter().all(|size| size == first) {
        (*first).max(GRID_BYTES)
    } else {
        GRID_BYTES
    };
    let least = least_multiple(step, |bytes| is_enough(pattern, bytes))?;
    Ok(least.map(|bytes| bytes.next_multiple_of(GRID_BYTES)))
}

/// The least multiple of `step` that is enough as a limit, by bisection; `None` if none is.
///
/// # Errors
/// As `is_enough`.
pub fn least_multiple<E>(
    step: u32,
    mut is_enough: impl FnMut(u32) -> Result<bool, E>,
) -> Result<Option<u32>, E> {
    // A limit of 0 lets one object through.
    if is_enough(0)? {
        return Ok(Some(0));
    }
    let (mut too_low, mut enough) = (0, FIRST_BYTES.div_ceil(step));
    while !is_enough(enough * step)? {
        if enough * step >= MOST_BYTES {
            return Ok(None);
        }
        too_low = enough;
        enough *= 2;
    }
    while enough - too_low > 1 {
        let middle = too_low + (enough - too_low) / 2;
        if is_enough(middle * step)? {
            enough = middle;
        } else {
            too_low = middle;
        }
    }
    Ok(Some(enough * step))
}

fn is_enough(pattern: &Pattern, limit_bytes: u32) -> Result<bool, RunError> {
    let measured_ns = pattern.end_ns.saturating_sub(pattern.warm_ns) as f64;
    let seen = observe(
        pattern,
        Fixed::bytes(limit_bytes),
        Detail {
            sample_ns: 0,
            course: false,
            // Busy and dry time together are at most the measured time: beyond this it is lost.
            give_up_dry_ns: ((1.0 - pattern.utilisation) * measured_ns) as u64 + 1,
            ..Detail::FULL
        },
    )?;
    Ok(seen.utilisation >= pattern.utilisation)
}
