//! The frames in flight to a host.

use std::collections::VecDeque;

use crate::NEVER_NS;
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
#[derive(Debug, Default)]
pub(super) struct FramesInFlight(VecDeque<Flight>);

impl FramesInFlight {
    /// Returns the arrival time of the first frame, in ns; [`NEVER_NS`] if there is none.
    #[inline]
    pub fn first_ns(&self) -> u64 {
        self.0.front().map_or(NEVER_NS, |first| first.at_ns)
    }

    /// Returns the number of frames in flight.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the frame at `index` from the front.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Flight> {
        self.0.get(index)
    }

    #[inline]
    pub fn push(&mut self, flight: Flight) {
        self.0.push_back(flight);
    }

    /// Removes the first frame.
    #[inline]
    pub fn drop_first(&mut self) {
        self.0.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_in_order_for_any_number() {
        let mut wire = FramesInFlight::default();
        let (mut sent, mut arrived) = (0, 0);
        for round in 0..200 {
            for _ in 0..round % 70 {
                let at_ns = sent;
                wire.push(Flight {
                    at_ns,
                    ..Flight::default()
                });
                sent += 1;
            }
            for _ in 0..round % 63 {
                let first_ns = wire.first_ns();
                let Some(flight) = wire.get(0) else { break };
                assert_eq!((flight.at_ns, first_ns), (arrived, arrived));
                wire.drop_first();
                arrived += 1;
            }
            let second = wire.get(1).map(|flight| flight.at_ns);
            assert_eq!(second, (arrived + 1 < sent).then_some(arrived + 1));
        }
        while wire.get(0).is_some() {
            wire.drop_first();
            arrived += 1;
        }
        assert_eq!((arrived, wire.first_ns()), (sent, NEVER_NS));
    }
}
