//! What a queue counts, besides its ledger.

use crate::packet::DropReason;

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drops {
    by_reason: [u64; DropReason::ALL.len()],
}

impl Drops {
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

    pub(super) const fn of_reasons(by_reason: [u64; DropReason::ALL.len()]) -> Self {
        Self { by_reason }
    }

    pub(super) const fn by_reason(&self) -> [u64; DropReason::ALL.len()] {
        self.by_reason
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
    /// Warning: packets whose budget came back before the device was done with them. The driver
    /// lets go of their owners, and small queues hold nothing back.
    pub orphaned_packets: u64,
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
