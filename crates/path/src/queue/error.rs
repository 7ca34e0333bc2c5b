//! The errors of a queue.

use core::fmt;

use crate::packet::Packet;

/// A packet that the discipline has no room for; nothing was dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom(pub Packet);

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no buffer space: the discipline is full")
    }
}

impl core::error::Error for NoRoom {}

/// The error of a completion batch. Packets and room were returned in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompleteError<E> {
    /// The device could not be reaped.
    Driver(E),
    /// The driver returned packets that this queue never sent: forged, duplicated, or of another
    /// queue. They are not counted. A tag distinguishes a queue from the 62 that were built before
    /// and after it in this process. A packet of a more distant queue can pass as one of this
    /// queue.
    UnknownCompletions {
        /// Their number in this batch.
        packets: u32,
    },
}

impl<E> CompleteError<E> {
    /// The error of a batch with `packets` unknown completions, if there are any.
    #[inline]
    pub(super) fn of_unknown(packets: u32) -> Option<Self> {
        (packets > 0).then_some(Self::UnknownCompletions { packets })
    }
}

impl<E: fmt::Display> fmt::Display for CompleteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(error) => error.fmt(f),
            Self::UnknownCompletions { packets } => write!(
                f,
                "the driver returned {packets} packets that this queue never submitted; it must \
                 return each submitted packet once, to the queue that submitted it"
            ),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for CompleteError<E> {}

/// The reason why a ledger could not be repaired; nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairError {
    /// The driver does not report the contents of its ring. Only a reset is possible.
    Unsupported,
    /// More units than a ledger can count.
    TooMuch {
        /// Units in the ring, as reported.
        units: u32,
    },
    /// The halves belong to different queues.
    DifferentQueues,
}

impl fmt::Display for RepairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => {
                f.write_str("the driver does not report the contents of its ring; reset the queue")
            }
            Self::TooMuch { units } => write!(
                f,
                "{units} units in the ring; at most {} can be in flight",
                i32::MAX
            ),
            Self::DifferentQueues => f.write_str("the halves belong to different queues"),
        }
    }
}

impl core::error::Error for RepairError {}

/// The reason why a queue could not be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueConfigError {
    /// The named value must be at least 1.
    Zero(&'static str),
    /// The named value is out of range.
    OutOfRange {
        /// Its name.
        name: &'static str,
        /// The rejected value.
        value: u64,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// More free slots are required for a restart than the ring has.
    RestartAboveRing {
        /// The requested number.
        restart_slots: u32,
        /// Slots of the ring.
        slots: u32,
    },
    /// The ring is smaller than its largest packet, so that packet could never be sent.
    LargestAboveRing {
        /// Slots of the largest packet.
        slots_of_largest: u32,
        /// Slots of the ring.
        slots: u32,
    },
    /// The rule of a budget counts packets. Queues share bytes, because a packet of one queue can
    /// be forty times as long as one of another.
    BudgetNotInBytes,
}

impl fmt::Display for QueueConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(name) => write!(f, "{name} is 0; allowed: 1 or more"),
            Self::OutOfRange {
                name,
                value,
                min,
                max,
            } => write!(f, "{name} is {value}; allowed: {min} to {max}"),
            Self::RestartAboveRing {
                restart_slots,
                slots,
            } => write!(
                f,
                "restart_slots is {restart_slots}; allowed: 1 to {slots}, the ring"
            ),
            Self::LargestAboveRing {
                slots_of_largest,
                slots,
            } => write!(
                f,
                "the ring has {slots} slots; the largest packet alone takes {slots_of_largest}"
            ),
            Self::BudgetNotInBytes => f.write_str(
                "the budget's rule counts packets; allowed: a rule that counts bytes, such as 40k \
                 or dql",
            ),
        }
    }
}

impl core::error::Error for QueueConfigError {}
