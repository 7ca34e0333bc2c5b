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

/// How far the limit is above the total queued: `>= 0` lets one more object through.
#[inline]
pub(crate) fn room(adj_limit: u32, num_queued: u32) -> i32 {
    adj_limit.wrapping_sub(num_queued) as i32
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

/// What is left after taking back the object queued last, or why it cannot be.
pub(crate) fn check_unqueue(in_flight: u32, last_object: u32, units: u32) -> Result<u32, Error> {
    if units != last_object {
        return Err(Error::NotQueuedLast { units, last_object });
    }
    // First in, first out: while less than all of it is in flight, some of it is completed.
    if units > in_flight {
        return Err(Error::AlreadyCompleted { units, in_flight });
    }
    Ok(in_flight - units)
}

/// What was finished when `observed` is outstanding of what is in flight.
pub(crate) fn check_observed(in_flight: u32, observed: u32) -> Result<u32, Error> {
    if observed > in_flight {
        return Err(Error::ObservedTooMuch {
            observed,
            in_flight,
        });
    }
    Ok(in_flight - observed)
}

/// What is added to the total queued, and by how much the ledger said too much, when `in_flight`
/// becomes `real`. Totals only ever go up: what is too much counts as completed, what was missing
/// counts as queued now.
pub(crate) fn check_repair(in_flight: i32, real: u32) -> Result<(u32, i64), Error> {
    if real > MAX_IN_FLIGHT {
        return Err(Error::InFlightTooLarge { in_flight: real });
    }
    let too_much = i64::from(in_flight) - i64::from(real);
    // At most 2^32 - 1: both are within 2^31 of 0.
    let missing = (-too_much).max(0) as u32;
    Ok((missing, too_much))
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
