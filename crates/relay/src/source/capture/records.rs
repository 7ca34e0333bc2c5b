//! The packets of a capture.

use std::collections::BTreeSet;
use std::ops::Range;

use super::times::Times;
use crate::account::RejectReason;

/// Link type of Ethernet frames.
const ETHERNET: u16 = 1;
/// Maximum length of a frame, in bytes. No device sends longer frames.
const MAX_FRAME_BYTES: usize = 1 << 18;
/// Length of an FCS of Ethernet, in bytes.
const FCS_BYTES: u32 = 4;

/// A packet of a file.
pub(super) struct Packet {
    /// The captured bytes, as a range of the file, or why there are none.
    pub data: Result<Range<usize>, RejectReason>,
    /// Length on the wire, in bytes, with the FCS if it was captured.
    pub original: u32,
    pub has_fcs: bool,
    pub link: u16,
    /// Time since 1970, in ns.
    pub time_ns: Option<i128>,
}

/// A packet as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// The frame, as a range of the file, or why it cannot be sent.
    pub frame: Result<Range<usize>, RejectReason>,
    /// Time after the first packet, in ns.
    pub due_ns: u64,
}

/// The packets of a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub all: Vec<Record>,
    pub times: Times,
    /// Link types other than Ethernet.
    pub other_links: BTreeSet<u16>,
}

impl Records {
    /// Adds a packet, or why one cannot be sent.
    pub fn push(&mut self, packet: Result<Packet, RejectReason>) {
        let time_ns = packet.as_ref().ok().and_then(|packet| packet.time_ns);
        let due_ns = self.times.offset_ns(time_ns);
        let frame = packet.and_then(|packet| self.frame(packet));
        self.all.push(Record { frame, due_ns });
    }

    /// Returns the frame without its FCS, because the device appends one.
    fn frame(&mut self, packet: Packet) -> Result<Range<usize>, RejectReason> {
        let fcs_bytes = if packet.has_fcs { FCS_BYTES } else { 0 };
        let frame_bytes = packet.original.saturating_sub(fcs_bytes) as usize;
        let data = packet.data?;
        match packet.link {
            ETHERNET if frame_bytes > MAX_FRAME_BYTES => Err(RejectReason::LongerThanMtu),
            ETHERNET if frame_bytes > data.len() => Err(RejectReason::TruncatedInCapture),
            ETHERNET => Ok(data.start..data.start + frame_bytes),
            link => {
                self.other_links.insert(link);
                Err(RejectReason::NotEthernet)
            }
        }
    }
}
