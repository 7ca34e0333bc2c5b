//! The packets of a capture, in memory.

use std::collections::BTreeSet;

use super::times::Times;
use crate::account::RejectReason;

/// Link type of Ethernet frames.
const ETHERNET: u16 = 1;
/// Maximum length of a packet that is kept, in bytes. No device sends longer frames.
pub(super) const MAX_PACKET_BYTES: u64 = 1 << 18;
/// Length of an FCS of Ethernet, in bytes.
const FCS_BYTES: u32 = 4;

/// A packet of a file.
pub(super) struct Packet<'a> {
    /// The captured bytes.
    pub data: &'a [u8],
    /// Length on the wire, in bytes, with the FCS if it was captured.
    pub original: u32,
    pub has_fcs: bool,
    pub link: Option<u16>,
    /// Time since 1970, in ns.
    pub time_ns: Option<i128>,
}

/// A packet in memory, or why it cannot be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    /// The end of its bytes in [`Records::bytes`]. The next one starts there.
    pub end: usize,
    /// Time after the first packet, in ns.
    pub due_ns: u64,
    pub reject: Option<RejectReason>,
}

/// The packets of a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub bytes: Vec<u8>,
    pub all: Vec<Record>,
    pub times: Times,
    /// Link types other than Ethernet.
    pub other_links: BTreeSet<u16>,
    /// Offset of the record or block that is being read, in bytes.
    pub at_bytes: u64,
}

impl Records {
    /// Records the position of the next record.
    pub fn begin(&mut self, at_bytes: u64) {
        self.at_bytes = at_bytes;
    }

    /// Adds a packet. Its FCS is removed, because the device appends one.
    pub fn push(&mut self, packet: &Packet<'_>) {
        let fcs_bytes = if packet.has_fcs { FCS_BYTES } else { 0 };
        let frame_bytes = packet.original.saturating_sub(fcs_bytes);
        let captured = packet.data.get(..frame_bytes as usize);
        let reason = match (packet.link, captured) {
            (Some(ETHERNET), _) if u64::from(frame_bytes) > MAX_PACKET_BYTES => {
                RejectReason::LongerThanMtu
            }
            (Some(ETHERNET), Some(bytes)) => {
                self.bytes.extend_from_slice(bytes);
                return self.add(None, packet.time_ns);
            }
            (Some(ETHERNET), None) => RejectReason::TruncatedInCapture,
            (link, _) => {
                self.other_links.extend(link);
                RejectReason::NotEthernet
            }
        };
        self.add(Some(reason), packet.time_ns);
    }

    /// Adds a packet that cannot be sent.
    pub fn reject(&mut self, reason: RejectReason, time_ns: Option<i128>) {
        self.add(Some(reason), time_ns);
    }

    fn add(&mut self, reject: Option<RejectReason>, time_ns: Option<i128>) {
        self.all.push(Record {
            end: self.bytes.len(),
            due_ns: self.times.offset_ns(time_ns),
            reject,
        });
    }
}
