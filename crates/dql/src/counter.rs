//! Arithmetic of wrapping totals, for both variants.

use crate::Error;
use crate::bounds::{MAX_IN_FLIGHT, MAX_OBJECT};

/// Returns `a - b` if the wrapped difference is positive as an `i32`, else 0.
#[inline]
pub(crate) fn positive_difference(a: u32, b: u32) -> u32 {
    (a.wrapping_sub(b) as i32).max(0) as u32
}

/// Returns the units in flight after one more object, for a ledger of the caller. `in_flight` is at
/// most [`MAX_IN_FLIGHT`].
///
/// # Errors
/// [`Error::ObjectTooLarge`] above [`MAX_OBJECT`], [`Error::TooMuchInFlight`] when more than
/// [`MAX_IN_FLIGHT`] would be in flight.
#[inline]
pub fn check_object(in_flight: u32, units: u32) -> Result<u32, Error> {
    // Cannot wrap past 2^32 for a valid object, because the units in flight are below 2^31.
    let after = in_flight.wrapping_add(units);
    if after > MAX_IN_FLIGHT {
        return Err(refusal(units, after));
    }
    if units > MAX_OBJECT {
        return Err(Error::ObjectTooLarge { units });
    }
    Ok(after)
}

// Recomputes the units in flight, so that the hot path does not have to keep them.
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
