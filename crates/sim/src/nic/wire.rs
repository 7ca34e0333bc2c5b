//! Wire time of frames.

use core::mem::replace;

use taut_path::Packet;

use super::config::{FinishedAt, Framing, NicConfig};
use super::descriptors::NicConfigError;
use crate::NEVER_NS;

/// The wire time of a packet or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireTime {
    /// Bytes of link time, padding and gaps included.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
}

/// Bits in a byte, times the nanoseconds of a second. Link time in ns is bytes times this over
/// bit/s.
const BIT_NS_PER_BYTE: u64 = 8 * 1_000_000_000;

/// Returns the link time of `bytes` at a rate, rounded down, in ns.
pub fn link_ns(bytes: u64, rate_bits_per_s: u64) -> u64 {
    let bit_ns = u128::from(bytes) * u128::from(BIT_NS_PER_BYTE);
    (bit_ns / u128::from(rate_bits_per_s.max(1))).min(u64::MAX.into()) as u64
}

/// A wire, and the frame on it.
pub(super) struct Wire {
    /// Time of the next frame event, in ns.
    pub(super) frame_ns: u64,
    /// The frame that is on the wire, or is next.
    pub(super) on_wire: Option<OnWire>,
    /// End of the previous frame, in ns.
    pub(super) free_ns: u64,
    pub(super) rate_bits_per_s: u64,
    /// Rounding remainder of the previous frames, in units of 1/rate ns. Without it, fast links
    /// would drift by the rounding of each frame.
    remainder: u64,
    framing: Framing,
    finished_at: FinishedAt,
    segments_apart: bool,
}

/// A frame on the wire, or all frames of a packet.
#[derive(Clone, Copy)]
pub(super) struct OnWire {
    /// Index of the segment in its packet, from 0.
    pub(super) index: u32,
    /// Whether it is the last frame of its packet.
    pub(super) last: bool,
    pub(super) time: WireTime,
    pub(super) starts_ns: u64,
    pub(super) ends_ns: u64,
}

impl Wire {
    pub(super) fn new(config: &NicConfig) -> Result<Self, NicConfigError> {
        if config.rate_bits_per_s == 0 {
            return Err(NicConfigError::RateZero);
        }
        Ok(Self {
            frame_ns: NEVER_NS,
            on_wire: None,
            free_ns: 0,
            rate_bits_per_s: config.rate_bits_per_s,
            remainder: 0,
            framing: config.framing,
            finished_at: config.finished_at,
            segments_apart: config.segments_apart,
        })
    }

    /// Removes the frame on the wire.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<OnWire> {
        let frame = self.on_wire.take()?;
        self.free_ns = frame.ends_ns;
        Some(frame)
    }

    /// Puts a frame of `packet` on the empty wire, at `now_ns` or when the wire is free.
    #[inline(always)]
    pub(super) fn start(&mut self, packet: Option<&Packet>, index: u32, now_ns: u64) {
        self.frame_ns = NEVER_NS;
        let Some(packet) = packet else {
            return;
        };
        let starts_ns = now_ns.max(self.free_ns);
        if starts_ns > self.free_ns {
            // The wire was idle.
            self.remainder = 0;
        }
        let (time, last) = if self.segments_apart {
            self.framing.segment_time(packet, index)
        } else {
            (self.framing.packet_time(packet), true)
        };
        let ends_ns = starts_ns.saturating_add(self.hold_ns(time.bytes));
        self.frame_ns = self.event_ns(starts_ns, ends_ns);
        self.on_wire = Some(OnWire {
            index,
            last,
            time,
            starts_ns,
            ends_ns,
        });
    }

    /// Changes the rate at `now_ns`; the remainder of the current frame is sent at the new rate.
    pub(super) fn set_rate(
        &mut self,
        rate_bits_per_s: u64,
        now_ns: u64,
    ) -> Result<(), NicConfigError> {
        if rate_bits_per_s == 0 {
            return Err(NicConfigError::RateZero);
        }
        let before_bits_per_s = replace(&mut self.rate_bits_per_s, rate_bits_per_s);
        self.remainder = 0;
        // A frame that left before `now_ns` is not sent again.
        if let Some(frame) = self.on_wire.filter(|it| it.ends_ns > now_ns) {
            let from_ns = frame.starts_ns.max(now_ns);
            let left_bits_ns = u128::from(frame.ends_ns - from_ns) * u128::from(before_bits_per_s);
            let left_ns = left_bits_ns / u128::from(rate_bits_per_s);
            let ends_ns = from_ns.saturating_add(left_ns.min(u64::MAX.into()) as u64);
            self.frame_ns = self.event_ns(frame.starts_ns, ends_ns);
            self.on_wire = Some(OnWire { ends_ns, ..frame });
        }
        Ok(())
    }

    /// Returns the time of the event of a frame, in ns.
    #[inline]
    fn event_ns(&self, starts_ns: u64, ends_ns: u64) -> u64 {
        match self.finished_at {
            FinishedAt::End => ends_ns,
            FinishedAt::Start => starts_ns,
        }
    }

    /// Returns the wire time of `bytes`, in ns, including the rounding remainder.
    #[inline]
    fn hold_ns(&mut self, bytes: u64) -> u64 {
        // Saturates for frames of more than 2 GB, which no limit can count.
        let bit_ns = bytes
            .saturating_mul(BIT_NS_PER_BYTE)
            .saturating_add(self.remainder);
        self.remainder = bit_ns % self.rate_bits_per_s;
        bit_ns / self.rate_bits_per_s
    }
}

impl Framing {
    /// Returns the link time of all frames of a packet. A GSO packet consists of segments that each
    /// have the headers.
    pub fn packet_time(self, packet: &Packet) -> WireTime {
        let (header, segment, payload) = segmented(packet);
        let full = payload.saturating_sub(1) / segment;
        let last_bytes = self.frame_time_bytes(header + (payload - full * segment));
        WireTime {
            bytes: full * self.frame_time_bytes(header + segment) + last_bytes,
            frames: full + 1,
        }
    }

    /// Returns the link time of one segment of a packet, and whether it is the last.
    #[inline]
    pub(super) fn segment_time(self, packet: &Packet, index: u32) -> (WireTime, bool) {
        let (header, segment, payload) = segmented(packet);
        let left = payload.saturating_sub(u64::from(index) * segment);
        let frame = WireTime {
            bytes: self.frame_time_bytes(header + left.min(segment)),
            frames: 1,
        };
        (frame, left <= segment)
    }
}

/// Returns the bytes of the headers of each segment, of a full segment's payload, and of the whole
/// payload. A packet that is not segmented is one segment without separate headers.
#[inline]
fn segmented(packet: &Packet) -> (u64, u64, u64) {
    let whole = u64::from(packet.wire_bytes());
    packet.segmentation.map_or((0, whole.max(1), whole), |it| {
        let header = u64::from(it.header_bytes);
        let segment = u64::from(it.payload_bytes.get());
        (header, segment, whole.saturating_sub(header))
    })
}
