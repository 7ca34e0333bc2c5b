//! Arithmetic of the wrapping totals, in one place for both variants.

use crate::Error;

/// The largest object one call may queue: 268,435,455 units, a sixteenth of the range of a `u32`.
pub const MAX_OBJECT: u32 = u32::MAX / 16;

/// The largest limit: 1,879,048,192 units, so that the limit and one more object stay below 2^31
/// and a signed room is meaningful.
pub const MAX_LIMIT: u32 = u32::MAX / 2 - MAX_OBJECT;

/// The most that may be in flight: 2,147,483,647 units. Above this the wrapped difference of two
/// totals would read as negative.
pub const MAX_IN_FLIGHT: u32 = i32::MAX as u32;

/// `a - b` when that wrapped difference is positive as an `i32`, else 0.
#[inline]
pub(crate) fn positive_difference(a: u32, b: u32) -> u32 {
    (a.wrapping_sub(b) as i32).max(0) as u32
}

/// What is in flight after one more object, for a ledger of the caller's. `in_flight` is at most
/// [`MAX_IN_FLIGHT`].
///
/// # Errors
/// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`], [`Error::TooMuchInFlight`] when more than
/// [`MAX_IN_FLIGHT`] would be in flight.
#[inline]
pub fn check_object(in_flight: u32, units: u32) -> Result<u32, Error> {
    // Cannot wrap past 2^32 for an object that is allowed: what is in flight is below 2^31.
    let after = in_flight.wrapping_add(units);
    if after > MAX_IN_FLIGHT {
        return Err(refusal(units, after));
    }
    if units > MAX_OBJECT {
        return Err(Error::ObjectTooLarge { units });
    }
    Ok(after)
}

// Computes back what is in flight, so that the hot path need not keep it.
#[cold]
#[inline(never)]
fn refusal(units: u32, after: u32) -> Error {
    if units > MAX_OBJECT {
        Error::ObjectTooLarge { units }
    } else {
        Error::TooMuchInFlight {
            units,
            in_flight: after.wrapping_sub(units),
        }
    }
}
