//! The counters of each half, with one writer each, which other threads can read.

use crate::packet::DropReason;
use crate::sharing::{Sharing, Wide};

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    /// In the order of [`DropReason::ALL`], which is that of its variants.
    by_reason: [u64; DropReason::ALL.len()],
}

impl Drops {
    pub(crate) const fn by_reason(by_reason: [u64; DropReason::ALL.len()]) -> Self {
        Self { by_reason }
    }

    /// Counts one drop.
    pub fn count(&mut self, reason: DropReason) {
        self.by_reason[reason as usize] += 1;
    }

    /// Returns the drops for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.by_reason[reason as usize]
    }

    /// Returns all drops.
    pub fn total(&self) -> u64 {
        self.by_reason.iter().sum()
    }
}

/// A counter, or a set of counters, and its cells.
pub(super) trait Counter: Copy {
    type Cell<M: Sharing>: Default;

    fn read<M: Sharing>(cell: &Self::Cell<M>) -> Self;
}

impl Counter for u64 {
    type Cell<M: Sharing> = M::Wide;

    fn read<M: Sharing>(cell: &M::Wide) -> Self {
        cell.load()
    }
}

impl Counter for Drops {
    type Cell<M: Sharing> = [M::Wide; DropReason::ALL.len()];

    fn read<M: Sharing>(cell: &Self::Cell<M>) -> Self {
        Self::by_reason(core::array::from_fn(|reason: usize| cell[reason].load()))
    }
}

/// Defines the counters of a half and their cells in one table.
macro_rules! counters {
    (
        $(#[$doc:meta])* $counters:ident in $cells:ident {
            $($(#[$field_doc:meta])* $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $counters {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        #[derive(Default)]
        pub(super) struct $cells<M: Sharing> {
            $(pub $field: <$kind as Counter>::Cell<M>,)*
        }

        impl<M: Sharing> $cells<M> {
            pub(super) fn read(&self) -> $counters {
                $counters { $($field: <$kind as Counter>::read::<M>(&self.$field),)* }
            }
        }
    };
}

counters! {
    /// Counters of the sender.
    SenderCounters in SenderCells {
        /// Packets passed to the discipline, including those that it dropped. A packet that
        /// returned as [`NoRoom`](super::NoRoom) is not counted.
        enqueued_packets: u64,
        /// Packets counted in the ledger and submitted to the device.
        sent_packets: u64,
        /// Their bytes; a packet without any counts as one.
        sent_bytes: u64,
        /// Packets dropped, by reason.
        drops: Drops,
        /// Segments dropped after other chunks of their packets were sent.
        dropped_segments: u64,
        /// GSO packets that were sent in chunks.
        segmented_packets: u64,
        /// Their chunks; each also counts as a sent packet.
        chunks: u64,
        /// Packets marked by the discipline.
        marked_packets: u64,
        /// Times that the limit stopped the queue.
        limit_stops: u64,
        /// Times that a full ring stopped the queue.
        ring_stops: u64,
        /// Doorbells rung.
        kicks: u64,
    }
}

counters! {
    /// Counters of the completer.
    CompleterCounters in CompleterCells {
        /// Packets completed that count for the limit.
        completed_packets: u64,
        /// Their bytes; a packet without any counts as one.
        completed_bytes: u64,
        /// Packets sent before a reset: returned, but not counted.
        stale_packets: u64,
        /// Packets returned by the driver that this queue never sent (driver bug).
        unknown_completions: u64,
        /// Batches with at least one completion.
        batches: u64,
        /// Batches after which the device had nothing left while the limit stopped the sender.
        starved: u64,
        /// Resets so far.
        resets: u64,
        /// Times that the ledger was corrected.
        repairs: u64,
        /// Stalls so far (`stall_cnt`).
        stalls: u64,
        /// The longest of them, in ns (`stall_max`).
        longest_stall_ns: u64,
    }
}

/// Adds to a counter with one writer.
#[inline]
pub(super) fn add(counter: &impl Wide, number: u64) {
    counter.store(counter.load() + number);
}

/// Subtracts from a counter with one writer.
pub(super) fn subtract(counter: &impl Wide, number: u64) {
    counter.store(counter.load() - number);
}

/// Counts a drop.
pub(super) fn count_drop<M: Sharing>(cells: &SenderCells<M>, reason: DropReason) {
    add(&cells.drops[reason as usize], 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::Threads;

    #[test]
    fn cells_are_read_as_they_were_counted() {
        let cells = SenderCells::<Threads>::default();
        add(&cells.kicks, 2);
        add(&cells.kicks, 1);
        count_drop(&cells, DropReason::Flushed);
        let read = cells.read();
        assert_eq!((read.kicks, read.sent_packets), (3, 0));
        assert_eq!(
            (read.drops.of(DropReason::Flushed), read.drops.total()),
            (1, 1)
        );
    }
}
