//! Accounting of the frames of one direction.

use std::collections::BTreeMap;

use taut_linux::link::DeliveryTally;
use taut_path::queue::CompleterCounters;

/// Reasons of a frame dropped before the discipline received it: the names in tables and JSON, next
/// to those of [`DropReason`](taut_path::DropReason).
pub mod reject {
    /// Dropped by the kernel because the backlog was full.
    pub const RECEIVE_BUFFER_FULL: &str = "receive_buffer_full";
    /// Longer than the other interface or a frame of the pool can carry.
    pub const TOO_LONG: &str = "too_long";
    /// Too long because of its VLAN tags, by which the driver lengthens no such frame.
    pub const TOO_LONG_TAGGED: &str = "too_long_tagged";
    /// A GSO packet that cannot be segmented and is too long to be sent whole.
    pub const NOT_SEGMENTED: &str = "not_cut";
    /// Its headers, or those of its record in a capture, are inconsistent with it.
    pub const MALFORMED: &str = "malformed";
    /// Its partial checksum is that of an unknown protocol.
    pub const UNKNOWN_CHECKSUM: &str = "unknown_checksum";
    /// No frame was free.
    pub const NO_FRAME: &str = "no_frame";
    /// The device was down or removed.
    pub const LINK_DOWN: &str = "link_down";
    /// A generated or captured frame longer than the MTU of the device.
    pub const LONGER_THAN_MTU: &str = "longer_than_mtu";
    /// A generated or captured frame longer than a frame of the pool.
    pub const LONGER_THAN_FRAME: &str = "longer_than_frame";
    /// A captured frame without a complete Ethernet header.
    pub const SHORTER_THAN_HEADER: &str = "shorter_than_header";
    /// The capture holds only the beginning of the frame.
    pub const TRUNCATED_IN_CAPTURE: &str = "cut_in_capture";
    /// A captured packet of another link type.
    pub const NOT_ETHERNET: &str = "not_ethernet";
    /// A captured packet of an interface that the file does not describe.
    pub const UNKNOWN_INTERFACE: &str = "unknown_interface";
}

/// The frames of one direction, each counted once.
///
/// The queue counts the packets that the device returns: those of the current epoch as completed,
/// those in flight at a reset as stale. A completion counts as sent when the next poll of the link
/// finds that it was up in the meantime. Otherwise, and for each stale packet, the frame is
/// *uncertain*. So a queue must be reset when its link failed or its ring is reopened.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Received frames, and GSO packets as one each.
    pub received_packets: u64,
    pub received_bytes: u64,
    /// GSO packets that were segmented, and their segments.
    pub gso_packets: u64,
    pub segments: u64,
    /// Frames that the discipline marked.
    pub marked_packets: u64,
    dropped_packets: BTreeMap<&'static str, u64>,
    packets: DeliveryTally,
    bytes: DeliveryTally,
    /// Counters of the queue at the last update.
    counted: CompleterCounters,
}

impl Account {
    /// Returns the number of frames to carry, each of which ends once.
    pub fn frames(&self) -> u64 {
        (self.received_packets + self.segments).saturating_sub(self.gso_packets)
    }

    /// Returns the frames that left the device, if its completions are valid.
    pub fn completed_packets(&self) -> u64 {
        self.packets.completed
    }

    pub fn completed_bytes(&self) -> u64 {
        self.bytes.completed
    }

    /// Returns the frames that were sent, or lost with the link or the ring.
    pub fn uncertain_packets(&self) -> u64 {
        // Packets that no poll confirmed are uncertain too: the poll failed.
        self.packets.uncertain + self.packets.unconfirmed
    }

    /// Returns the completed packets and bytes, including those that the next poll of the link
    /// confirms.
    pub fn returned(&self) -> (u64, u64) {
        let sum = |tally: &DeliveryTally| tally.completed + tally.unconfirmed;
        (sum(&self.packets), sum(&self.bytes))
    }

    /// Returns the dropped frames by reason; only the reasons that occurred.
    pub fn dropped_packets(&self) -> &BTreeMap<&'static str, u64> {
        &self.dropped_packets
    }

    pub fn all_dropped_packets(&self) -> u64 {
        self.dropped_packets.values().sum()
    }

    /// Returns the completions of packets that were never sent (driver bug).
    pub fn unknown_completions(&self) -> u64 {
        self.counted.unknown_completions
    }

    /// Returns the frames that have ended.
    pub fn ended_packets(&self) -> u64 {
        self.completed_packets() + self.uncertain_packets() + self.all_dropped_packets()
    }

    /// Returns the frames that wait or are in the device.
    pub fn pending_packets(&self) -> u64 {
        self.frames().saturating_sub(self.ended_packets())
    }

    /// Returns the frames that have not ended, or ended twice, once the run is over.
    pub fn unaccounted_packets(&self) -> u64 {
        self.frames().abs_diff(self.ended_packets()) + self.unknown_completions()
    }

    /// Returns `true` if packets were returned that no poll of the link has confirmed.
    pub fn is_unconfirmed(&self) -> bool {
        self.packets.unconfirmed > 0
    }

    /// Returns the packets that the device has returned so far.
    pub(crate) fn returned_by_device(&self) -> u64 {
        self.counted.completed_packets + self.counted.stale_packets
    }

    /// Updates the counters of the queue. Returns the packets that the device returned since the
    /// last update: current and stale ones.
    pub(crate) fn completed(&mut self, counters: CompleterCounters) -> (u64, u64) {
        let before = std::mem::replace(&mut self.counted, counters);
        let packets = counters.completed_packets - before.completed_packets;
        let stale_packets = counters.stale_packets - before.stale_packets;
        self.packets.reaped(packets);
        self.packets.stale(stale_packets);
        self.bytes
            .reaped(counters.completed_bytes - before.completed_bytes);
        (packets, stale_packets)
    }

    /// Records a poll of the link, after the device returned the counted packets.
    pub(crate) fn link_polled(&mut self, was_down: bool) {
        self.packets.confirm(was_down);
        self.bytes.confirm(was_down);
    }

    /// Ends the run with `packets` in the device.
    pub(crate) fn give_up(&mut self, packets: u64) {
        self.packets.stale(packets);
    }

    /// Counts dropped frames, with the name of the reason.
    pub(crate) fn count_dropped(&mut self, reason: &'static str, packets: u64) {
        if packets > 0 {
            *self.dropped_packets.entry(reason).or_default() += packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters of a queue after `completed` packets of 60 bytes and `stale` ones.
    fn counted(completed: u64, stale: u64) -> CompleterCounters {
        CompleterCounters {
            completed_packets: completed,
            completed_bytes: completed * 60,
            stale_packets: stale,
            ..CompleterCounters::default()
        }
    }

    #[test]
    fn unconfirmed_and_stale_packets_are_uncertain() {
        let mut account = Account {
            received_packets: 6,
            ..Account::default()
        };
        account.completed(counted(1, 0));
        account.link_polled(false);
        account.completed(counted(2, 0));
        assert!(account.is_unconfirmed());
        // The link failed with two packets in the device: the queue is reset, and they are returned
        // as stale.
        account.link_polled(true);
        let ends = |account: &Account| (account.completed_packets(), account.uncertain_packets());
        assert_eq!(ends(&account), (1, 1));
        let returned = account.completed(counted(3, 2));
        assert_eq!(returned, (1, 2));
        account.link_polled(false);
        assert_eq!(ends(&account), (2, 3));
        assert_eq!(account.completed_bytes(), 120);
        assert_eq!((account.ended_packets(), account.pending_packets()), (5, 1));
        account.give_up(1);
        assert_eq!((ends(&account), account.unaccounted_packets()), ((2, 4), 0));
    }
}
