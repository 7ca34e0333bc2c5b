//! The frames in flight to a host.

use std::collections::VecDeque;

use crate::tcp::{Ack, SackBlocks};

/// A frame in flight with its content. One cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Flight {
    /// Arrival time, in ns.
    pub at_ns: u64,
    pub start: u64,
    pub cumulative: u64,
    pub sack: SackBlocks,
    pub window_bytes: u32,
    pub connection: u32,
    /// Time from the NIC's report to the arrival, in ns: determines the order of two events at one
    /// time.
    pub under_way_ns: u32,
    pub payload_bytes: u16,
    /// Its [`FrameFlags`].
    pub flags: u8,
}

const _: () = assert!(size_of::<Flight>() == 64);

/// Flags of a frame, as bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameFlags;

impl FrameFlags {
    /// The discipline marked its packet.
    pub const CONGESTION: u8 = 1;
    pub const CWR: u8 = 2;
    /// It contains a new acknowledgement.
    pub const ACK: u8 = 4;
    pub const ECE: u8 = 8;
    /// Flags that only the first frame of a GSO packet has.
    pub const ONLY_FIRST: u8 = Self::CWR | Self::ACK;
    /// More segments of the same GSO packet follow.
    pub const MORE: u8 = 32;
    /// Can be marked instead of dropped.
    pub const ECN_CAPABLE: u8 = 64;
}

impl Flight {
    #[inline]
    pub fn has(&self, what: u8) -> bool {
        self.flags & what != 0
    }

    /// Returns the time of the NIC's report, in ns.
    pub fn reported_ns(&self) -> u64 {
        self.at_ns - u64::from(self.under_way_ns)
    }

    #[inline(always)]
    pub fn ack(&self) -> Ack {
        Ack {
            cumulative: self.cumulative,
            window_bytes: self.window_bytes,
            sack: self.sack,
            ece: self.has(FrameFlags::ECE),
        }
    }
}

/// Frames in flight, in the order of the wire.
pub(super) type FramesInFlight = VecDeque<Flight>;
