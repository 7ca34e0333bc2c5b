use core::fmt;

use crate::counter::{MAX_IN_FLIGHT, MAX_LIMIT, MAX_OBJECT};

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
    /// This [`Shared`](crate::Shared) already has its two halves: a second producer or completer
    /// would break the one-writer rule.
    AlreadySplit,
    /// The two halves do not belong to the same [`Shared`](crate::Shared).
    NotTheSameQueue,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::ObjectTooLarge { units } => {
                write!(
                    f,
                    "object of {units} units: at most {MAX_OBJECT} are allowed"
                )
            }
            Error::TooMuchInFlight { units, in_flight } => write!(
                f,
                "object of {units} units with {in_flight} in flight: \
                 at most {MAX_IN_FLIGHT} may be in flight together"
            ),
            Error::OverCompletion { units, in_flight } => {
                write!(
                    f,
                    "{units} units completed: at most the {in_flight} in flight can be"
                )
            }
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
            Error::AlreadySplit => {
                f.write_str("the queue is already split: it has one producer and one completer")
            }
            Error::NotTheSameQueue => {
                f.write_str("the halves belong to different queues: both must share one")
            }
        }
    }
}

impl core::error::Error for Error {}
