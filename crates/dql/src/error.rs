use core::fmt;

use crate::bounds::{MAX_IN_FLIGHT, MAX_LIMIT, MAX_OBJECT};

/// An invalid call. A call that fails changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// One object of more than [`MAX_OBJECT`] units.
    ObjectTooLarge {
        /// The rejected size.
        units: u32,
    },
    /// The object would bring the units in flight to 2^31 or more, where comparisons of wrapped
    /// counters fail.
    TooMuchInFlight {
        /// The rejected size.
        units: u32,
        /// Units in flight without it.
        in_flight: u32,
    },
    /// More units were reported completed than are in flight.
    OverCompletion {
        /// The rejected completion.
        units: u32,
        /// Units in flight: the maximum that can complete.
        in_flight: u32,
    },
    /// The device reports more units in flight than the ledger has.
    ObservedAboveInFlight {
        /// Units observed in flight.
        observed: u32,
        /// Units in flight in the ledger: the maximum that can be observed.
        in_flight: u32,
    },
    /// The object to be removed is not the one queued last.
    NotQueuedLast {
        /// The size of the object to be removed.
        units: u32,
        /// The size of the object queued last; 0 if no object can be removed, because none was
        /// queued since the start, a reset, a repair or the last removal.
        last_object: u32,
    },
    /// The object to be removed was reported completed, so the device had it.
    AlreadyCompleted {
        /// The size of the object to be removed.
        units: u32,
        /// Units in flight: the maximum that can be removed.
        in_flight: u32,
    },
    /// A ledger cannot be repaired to more than [`MAX_IN_FLIGHT`].
    RepairTooLarge {
        /// The rejected amount.
        in_flight: u32,
    },
    /// A limit, or a bound of the limit, above [`MAX_LIMIT`].
    LimitTooLarge {
        /// The rejected value.
        limit: u32,
    },
    /// The lower bound of the limit would be above its upper bound.
    MinAboveMax {
        /// The lower bound, requested or current.
        min_limit: u32,
        /// The upper bound, requested or current.
        max_limit: u32,
    },
    /// The rule has no settings.
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
                "the object is {units} units; allowed: at most {MAX_OBJECT}"
            ),
            Error::TooMuchInFlight { units, in_flight } => write!(
                f,
                "object of {units} units with {in_flight} in flight: \
                 at most {MAX_IN_FLIGHT} can be in flight"
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
                "the device reports {observed} units in flight, but the ledger has {in_flight}"
            ),
            Error::NotQueuedLast {
                units,
                last_object: 0,
            } => write!(f, "cannot unqueue {units} units: no object can be removed"),
            Error::NotQueuedLast { units, last_object } => write!(
                f,
                "cannot unqueue {units} units: the object queued last has {last_object} units"
            ),
            Error::AlreadyCompleted { units, in_flight } => write!(
                f,
                "cannot unqueue {units} units with {in_flight} in flight: they were already \
                 completed"
            ),
            Error::RepairTooLarge { in_flight } => write!(
                f,
                "in_flight of the repair is {in_flight} units; allowed: at most {MAX_IN_FLIGHT}"
            ),
            Error::LimitTooLarge { limit } => write!(
                f,
                "the limit is {limit} units; allowed: at most {MAX_LIMIT}"
            ),
            Error::MinAboveMax {
                min_limit,
                max_limit,
            } => write!(
                f,
                "min_limit is {min_limit}; allowed: at most max_limit, which is {max_limit}"
            ),
            Error::NotSettable => f.write_str("cannot change settings: this rule has none"),
            Error::AlreadySplit => {
                f.write_str("the queue is already split: it has one sender and one completer")
            }
            Error::DifferentQueues => f.write_str("the halves belong to different queues"),
        }
    }
}

impl core::error::Error for Error {}
