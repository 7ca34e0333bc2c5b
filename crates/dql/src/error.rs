use core::fmt;

use crate::bounds::{MAX_IN_FLIGHT, MAX_LIMIT, MAX_OBJECT};

/// A caller's mistake. Whatever was refused has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// One object of more than [`MAX_OBJECT`] units.
    ObjectTooLarge {
        /// The size that was refused.
        units: u32,
    },
    /// The object would bring the amount in flight to 2^31 units or more, where the wrapped
    /// comparisons of counters would lie.
    TooMuchInFlight {
        /// The size that was refused.
        units: u32,
        /// What is in flight without it.
        in_flight: u32,
    },
    /// More was reported completed than is in flight.
    OverCompletion {
        /// The completion that was refused.
        units: u32,
        /// What is in flight, so the most that can complete.
        in_flight: u32,
    },
    /// More was observed in flight than the ledger knows of.
    ObservedAboveInFlight {
        /// What was observed in flight.
        observed: u32,
        /// What is in flight as far as the ledger knows, so the most that can be observed.
        in_flight: u32,
    },
    /// What is to be taken back is not the object queued last.
    NotQueuedLast {
        /// The size that was to be taken back.
        units: u32,
        /// The size of the object queued last; 0 when there is none that could be taken back,
        /// because nothing was queued since the start, a reset, a repair or the last taking back.
        last_object: u32,
    },
    /// The object that is to be taken back was reported completed, so the device had it.
    AlreadyCompleted {
        /// The size that was to be taken back.
        units: u32,
        /// What is in flight, so the most that could be taken back.
        in_flight: u32,
    },
    /// A ledger cannot be repaired to more than [`MAX_IN_FLIGHT`].
    RepairTooLarge {
        /// The amount that was refused.
        in_flight: u32,
    },
    /// A limit, or a bound of the limit, above [`MAX_LIMIT`].
    LimitTooLarge {
        /// The value that was refused.
        limit: u32,
    },
    /// The lower bound of the limit would be above its upper bound.
    MinAboveMax {
        /// The lower bound that was asked for, or that is in force.
        min_limit: u32,
        /// The upper bound that was asked for, or that is in force.
        max_limit: u32,
    },
    /// The limit has no settings.
    NotSettable,
    /// This [`Shared`](crate::Shared) already has its two halves: a second sender or completer
    /// would break the one-writer rule.
    AlreadySplit,
    /// The two halves do not belong to the same [`Shared`](crate::Shared).
    DifferentQueues,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::ObjectTooLarge { units } => write!(
                f,
                "object of {units} units: at most {MAX_OBJECT} are allowed"
            ),
            Error::TooMuchInFlight { units, in_flight } => write!(
                f,
                "object of {units} units with {in_flight} in flight: \
                 at most {MAX_IN_FLIGHT} may be in flight together"
            ),
            Error::OverCompletion { units, in_flight } => write!(
                f,
                "completed {units} units, but only {in_flight} are in flight"
            ),
            Error::ObservedAboveInFlight {
                observed,
                in_flight,
            } => write!(
                f,
                "observed {observed} units in flight, but only {in_flight} are in flight"
            ),
            Error::NotQueuedLast { units, last_object } => write!(
                f,
                "object of {units} units taken back: only the one queued last can be, which has \
                 {last_object} (0: there is none)"
            ),
            Error::AlreadyCompleted { units, in_flight } => write!(
                f,
                "object of {units} units taken back with {in_flight} in flight: \
                 it was already completed"
            ),
            Error::RepairTooLarge { in_flight } => write!(
                f,
                "repair to {in_flight} units in flight: at most {MAX_IN_FLIGHT} are allowed"
            ),
            Error::LimitTooLarge { limit } => {
                write!(f, "limit of {limit} units: at most {MAX_LIMIT} are allowed")
            }
            Error::MinAboveMax {
                min_limit,
                max_limit,
            } => write!(
                f,
                "min_limit {min_limit} with max_limit {max_limit}: \
                 min_limit must not be above max_limit"
            ),
            Error::NotSettable => f.write_str("the limit has no settings"),
            Error::AlreadySplit => {
                f.write_str("the queue is already split: it has one sender and one completer")
            }
            Error::DifferentQueues => {
                f.write_str("the halves belong to different queues: both must share one")
            }
        }
    }
}

impl core::error::Error for Error {}
