//! The errors of a queue.

use crate::packet::Packet;

/// A packet that the discipline has no room for; nothing was dropped.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no buffer space: the discipline is full")]
pub struct NoRoom(pub Packet);

/// The error of a completion batch. Packets and room were returned in any case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompleteError<E> {
    /// The device could not be reaped.
    #[error("{0}")]
    Driver(E),
    /// The driver returned packets that this queue never sent: forged, duplicated, or of another
    /// queue. They are not counted. A tag distinguishes a queue from the 62 that were built before
    /// and after it in this process. A packet of a more distant queue can pass as one of this
    /// queue.
    #[error(
        "the driver returned {packets} packets that this queue never submitted; it must return \
         each submitted packet once, to the queue that submitted it"
    )]
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

/// The reason why a ledger could not be repaired; nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The driver does not report the contents of its ring. Only a reset is possible.
    #[error("the driver does not report the contents of its ring; reset the queue")]
    Unsupported,
    /// More units than a ledger can count.
    #[error("{units} units in the ring; at most {} can be in flight", i32::MAX)]
    TooMuch {
        /// Units in the ring, as reported.
        units: u32,
    },
}

/// The reason why a queue could not be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueueConfigError {
    /// The named value must be at least 1.
    #[error("{0} is 0; allowed: 1 or more")]
    Zero(&'static str),
    /// The named value is out of range.
    #[error("{name} is {value}; allowed: {min} to {max}")]
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
    #[error("restart_slots is {restart_slots}; allowed: 1 to {slots}, the ring")]
    RestartAboveRing {
        /// The requested number.
        restart_slots: u32,
        /// Slots of the ring.
        slots: u32,
    },
    /// The ring is smaller than its largest packet, so that packet could never be sent.
    #[error("the ring has {slots} slots; the largest packet alone takes {slots_of_largest}")]
    LargestAboveRing {
        /// Slots of the largest packet.
        slots_of_largest: u32,
        /// Slots of the ring.
        slots: u32,
    },
    /// The rule of a budget counts packets. Queues share bytes, because a packet of one queue can
    /// be forty times as long as one of another.
    #[error(
        "the budget's rule counts packets; allowed: a rule that counts bytes, such as 40k or dql"
    )]
    BudgetNotInBytes,
}
