//! What a queue counts, besides its ledger.

use crate::packet::DropReason;
use crate::sharing::{Sharing, Wide};

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    by_reason: [u64; DropReason::ALL.len()],
}

impl Drops {
    /// So many for each reason, in the order of [`DropReason::ALL`].
    pub(crate) const fn by_reason(by_reason: [u64; DropReason::ALL.len()]) -> Self {
        Self { by_reason }
    }

    /// Counts one drop.
    pub fn count(&mut self, reason: DropReason) {
        if let Some(index) = DropReason::ALL.iter().position(|&known| known == reason) {
            self.by_reason[index] += 1;
        }
    }

    /// Drops for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        DropReason::ALL
            .iter()
            .zip(self.by_reason)
            .find_map(|(&known, drops)| (known == reason).then_some(drops))
            .unwrap_or(0)
    }

    /// All drops.
    pub fn total(&self) -> u64 {
        self.by_reason.iter().sum()
    }
}

/// What the sender did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounters {
    /// Packets offered to the discipline.
    pub enqueued_packets: u64,
    /// Packets accounted for and given to the device.
    pub sent_packets: u64,
    /// Their bytes; a packet without any counts as one.
    pub sent_bytes: u64,
    /// Packets dropped, by reason.
    pub drops: Drops,
    /// Segments of packets dropped after pieces of them were sent: those that were not.
    pub dropped_segments: u64,
    /// Super-packets that did not go whole.
    pub cut_packets: u64,
    /// Their pieces; each is one of the packets sent too.
    pub pieces: u64,
    /// Packets marked by the discipline.
    pub marked_packets: u64,
    /// Times the limit stopped the queue.
    pub limit_stops: u64,
    /// Times a full ring stopped the queue.
    pub ring_stops: u64,
    /// Doorbells rung.
    pub kicks: u64,
}

/// What the completer did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompleterCounters {
    /// Packets completed that count for the limit.
    pub completed_packets: u64,
    /// Their bytes; a packet without any counts as one.
    pub completed_bytes: u64,
    /// Packets of before a reset: given back, but not counted.
    pub late_packets: u64,
    /// Error of the driver: packets that it handed back and that this queue had never sent.
    pub stray_packets: u64,
    /// Rounds in which something was completed.
    pub rounds: u64,
    /// Rounds after which the device had nothing left while the limit held the sender back.
    pub starved: u64,
    /// Resets so far.
    pub resets: u64,
    /// Times that the ledger was put right.
    pub repairs: u64,
    /// Stalls so far (`stall_cnt`).
    pub stalls: u64,
    /// The longest of them, in ns (`stall_max`).
    pub longest_stall_ns: u64,
}

/// The counters of the sender, its only writer, where others can read them.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct SenderCells<M: Sharing> {
    pub(super) enqueued_packets: M::Wide,
    pub(super) sent_packets: M::Wide,
    pub(super) sent_bytes: M::Wide,
    pub(super) dropped_segments: M::Wide,
    pub(super) cut_packets: M::Wide,
    pub(super) pieces: M::Wide,
    pub(super) marked_packets: M::Wide,
    pub(super) limit_stops: M::Wide,
    pub(super) ring_stops: M::Wide,
    pub(super) kicks: M::Wide,
    drops: [M::Wide; DropReason::ALL.len()],
}

impl<M: Sharing> SenderCells<M> {
    pub(super) fn new() -> Self {
        let zero = || M::Wide::new(0);
        Self {
            enqueued_packets: zero(),
            sent_packets: zero(),
            sent_bytes: zero(),
            dropped_segments: zero(),
            cut_packets: zero(),
            pieces: zero(),
            marked_packets: zero(),
            limit_stops: zero(),
            ring_stops: zero(),
            kicks: zero(),
            drops: core::array::from_fn(|_| zero()),
        }
    }

    /// Starts from what another counted.
    pub(super) fn set(&self, from: &SenderCounters) {
        self.enqueued_packets.store(from.enqueued_packets);
        self.sent_packets.store(from.sent_packets);
        self.sent_bytes.store(from.sent_bytes);
        self.dropped_segments.store(from.dropped_segments);
        self.cut_packets.store(from.cut_packets);
        self.pieces.store(from.pieces);
        self.marked_packets.store(from.marked_packets);
        self.limit_stops.store(from.limit_stops);
        self.ring_stops.store(from.ring_stops);
        self.kicks.store(from.kicks);
        for (cell, drops) in self.drops.iter().zip(from.drops.by_reason) {
            cell.store(drops);
        }
    }

    pub(super) fn read(&self) -> SenderCounters {
        SenderCounters {
            enqueued_packets: self.enqueued_packets.load(),
            sent_packets: self.sent_packets.load(),
            sent_bytes: self.sent_bytes.load(),
            dropped_segments: self.dropped_segments.load(),
            cut_packets: self.cut_packets.load(),
            pieces: self.pieces.load(),
            marked_packets: self.marked_packets.load(),
            limit_stops: self.limit_stops.load(),
            ring_stops: self.ring_stops.load(),
            kicks: self.kicks.load(),
            drops: Drops {
                by_reason: core::array::from_fn(|reason: usize| self.drops[reason].load()),
            },
        }
    }

    pub(super) fn dropped(&self, reason: DropReason) {
        if let Some(index) = DropReason::ALL.iter().position(|&known| known == reason) {
            add(&self.drops[index], 1);
        }
    }
}

/// The counters of the completer, its only writer, where others can read them.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct CompleterCells<M: Sharing> {
    pub(super) completed_packets: M::Wide,
    pub(super) completed_bytes: M::Wide,
    pub(super) late_packets: M::Wide,
    pub(super) stray_packets: M::Wide,
    pub(super) rounds: M::Wide,
    pub(super) starved: M::Wide,
    pub(super) resets: M::Wide,
    pub(super) repairs: M::Wide,
    pub(super) stalls: M::Wide,
    pub(super) longest_stall_ns: M::Wide,
}

impl<M: Sharing> CompleterCells<M> {
    pub(super) fn new() -> Self {
        let zero = || M::Wide::new(0);
        Self {
            completed_packets: zero(),
            completed_bytes: zero(),
            late_packets: zero(),
            stray_packets: zero(),
            rounds: zero(),
            starved: zero(),
            resets: zero(),
            repairs: zero(),
            stalls: zero(),
            longest_stall_ns: zero(),
        }
    }

    /// Starts from what another counted.
    pub(super) fn set(&self, from: &CompleterCounters) {
        self.completed_packets.store(from.completed_packets);
        self.completed_bytes.store(from.completed_bytes);
        self.late_packets.store(from.late_packets);
        self.stray_packets.store(from.stray_packets);
        self.rounds.store(from.rounds);
        self.starved.store(from.starved);
        self.resets.store(from.resets);
        self.repairs.store(from.repairs);
        self.stalls.store(from.stalls);
        self.longest_stall_ns.store(from.longest_stall_ns);
    }

    pub(super) fn read(&self) -> CompleterCounters {
        CompleterCounters {
            completed_packets: self.completed_packets.load(),
            completed_bytes: self.completed_bytes.load(),
            late_packets: self.late_packets.load(),
            stray_packets: self.stray_packets.load(),
            rounds: self.rounds.load(),
            starved: self.starved.load(),
            resets: self.resets.load(),
            repairs: self.repairs.load(),
            stalls: self.stalls.load(),
            longest_stall_ns: self.longest_stall_ns.load(),
        }
    }
}

/// Adds to a counter with one writer.
#[inline]
pub(super) fn add(counter: &impl Wide, number: u64) {
    counter.store(counter.load() + number);
}
