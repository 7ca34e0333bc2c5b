//! What frames cost on the wire.

use core::mem::replace;

use taut_path::{Packet, Segmentation};

use super::config::{FinishedAt, Framing, NicConfig, NicConfigError};
use crate::NEVER_NS;

/// How long a packet, or a part of it, holds the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireTime {
    /// Bytes of link time, padding and gaps included.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
}

/// Bits in a byte, times the nanoseconds of a second: link time is this over bit/s.
const BIT_NS_PER_BYTE: u64 = 8 * 1_000_000_000;

/// How long so many bytes of link time take at a rate, rounded down, in ns.
pub fn link_ns(bytes: u64, rate_bits_per_s: u64) -> u64 {
    let bit_ns = u128::from(bytes) * u128::from(BIT_NS_PER_BYTE);
    (bit_ns / u128::from(rate_bits_per_s.max(1))).min(u64::MAX.into()) as u64
}

/// A wire, and the frame on it.
pub(super) struct Wire {
    /// When it next tells of a frame, in ns.
    pub(super) frame_ns: u64,
    /// The frame that has the wire, or has it next.
    pub(super) on_wire: Option<OnWire>,
    /// When the last bit before that leaves.
    pub(super) free_ns: u64,
    clock: Clock,
    framing: Framing,
    finished_at: FinishedAt,
    segments_apart: bool,
}

/// A frame on the wire, or all frames of a packet.
#[derive(Clone, Copy)]
pub(super) struct OnWire {
    /// Which segment of its packet, from 0.
    pub(super) index: u32,
    /// Whether it is the packet's last.
    pub(super) last: bool,
    /// The frame of its packet.
    pub(super) packet_frame: u32,
    pub(super) time: WireTime,
    pub(super) starts_ns: u64,
    pub(super) ends_ns: u64,
}

impl Wire {
    pub(super) fn new(config: &NicConfig) -> Result<Self, NicConfigError> {
        Ok(Self {
            frame_ns: NEVER_NS,
            on_wire: None,
            free_ns: 0,
            clock: Clock::new(config.rate_bits_per_s).ok_or(NicConfigError::RateZero)?,
            framing: config.framing,
            finished_at: config.finished_at,
            segments_apart: config.segments_apart,
        })
    }

    /// Takes off what is on it.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<OnWire> {
        let frame = self.on_wire.take()?;
        self.free_ns = frame.ends_ns;
        Some(frame)
    }

    /// Puts a frame of `packet` on it, at `now_ns` or when it is free. Nothing was on it.
    #[inline(always)]
    pub(super) fn start(&mut self, packet: Option<&Packet>, index: u32, now_ns: u64) {
        self.frame_ns = NEVER_NS;
        let Some(packet) = packet else {
            return;
        };
        let starts_ns = now_ns.max(self.free_ns);
        if starts_ns > self.free_ns {
            self.clock.forget_rest();
        }
        let (time, last) = if self.segments_apart {
            self.framing.segment_time(packet, index)
        } else {
            (self.framing.packet_time(packet), true)
        };
        let ends_ns = starts_ns.saturating_add(self.clock.hold_ns(time.bytes));
        self.frame_ns = self.told_ns(starts_ns, ends_ns);
        self.on_wire = Some(OnWire {
            index,
            last,
            packet_frame: packet.frame().index(),
            time,
            starts_ns,
            ends_ns,
        });
    }

    /// Goes at another rate from `now_ns` on; what is left of the frame on it goes at the new one.
    pub(super) fn set_rate(
        &mut self,
        rate_bits_per_s: u64,
        now_ns: u64,
    ) -> Result<(), NicConfigError> {
        // A frame that had left by then does not leave again.
        let frame = self.on_wire.filter(|it| it.ends_ns > now_ns);
        let from_ns = frame.map_or(0, |it| it.starts_ns.max(now_ns));
        let left_ns = frame.map_or(0, |it| it.ends_ns - from_ns);
        let left_ns = self.clock.set_rate(rate_bits_per_s, left_ns)?;
        if let Some(frame) = frame {
            let ends_ns = from_ns.saturating_add(left_ns);
            self.frame_ns = self.told_ns(frame.starts_ns, ends_ns);
            self.on_wire = Some(OnWire { ends_ns, ..frame });
        }
        Ok(())
    }

    /// In bit/s.
    pub(super) fn rate_bits_per_s(&self) -> u64 {
        self.clock.rate_bits_per_s
    }

    /// When a frame is told of, in ns.
    #[inline]
    fn told_ns(&self, starts_ns: u64, ends_ns: u64) -> u64 {
        match self.finished_at {
            FinishedAt::End => ends_ns,
            FinishedAt::Start => starts_ns,
        }
    }
}

/// How long frames take that follow each other at a rate.
#[derive(Debug)]
struct Clock {
    rate_bits_per_s: u64,
    /// What a byte takes, in ns, if that is a whole number: then nothing is divided and owed.
    byte_ns: Option<u64>,
    /// Part of a nanosecond that the wire owes, in units of 1/rate: without it, fast links would
    /// drift by the rounding of each frame.
    owed: u64,
}

impl Clock {
    /// `None` for a rate of 0.
    fn new(rate_bits_per_s: u64) -> Option<Self> {
        (rate_bits_per_s > 0).then_some(Self {
            rate_bits_per_s,
            byte_ns: BIT_NS_PER_BYTE
                .is_multiple_of(rate_bits_per_s)
                .then(|| BIT_NS_PER_BYTE / rate_bits_per_s),
            owed: 0,
        })
    }

    /// Goes at another rate from now on, and says how long what had `left_ns` of the wire at the
    /// old one has it at the new one. A rate of 0 changes nothing.
    fn set_rate(&mut self, rate_bits_per_s: u64, left_ns: u64) -> Result<u64, NicConfigError> {
        let clock = Self::new(rate_bits_per_s).ok_or(NicConfigError::RateZero)?;
        let before = replace(self, clock);
        let stretched = u128::from(left_ns) * u128::from(before.rate_bits_per_s);
        Ok((stretched / u128::from(rate_bits_per_s)).min(u64::MAX.into()) as u64)
    }

    /// The wire was idle: nothing is owed.
    fn forget_rest(&mut self) {
        self.owed = 0;
    }

    /// How long so many bytes of link time hold the wire after what came before, in ns.
    #[inline]
    fn hold_ns(&mut self, bytes: u64) -> u64 {
        if let Some(byte_ns) = self.byte_ns {
            return bytes.saturating_mul(byte_ns);
        }
        // Saturates for frames of more than 2 GB, which no limit can count.
        let bit_ns = bytes
            .saturating_mul(BIT_NS_PER_BYTE)
            .saturating_add(self.owed);
        self.owed = bit_ns % self.rate_bits_per_s;
        bit_ns / self.rate_bits_per_s
    }
}

impl Framing {
    /// Link time of a packet, all its frames together. A super-packet is cut into segments that
    /// each carry the headers again.
    pub fn packet_time(self, packet: &Packet) -> WireTime {
        let whole = u64::from(packet.wire_bytes());
        let Some(Segmentation {
            header_bytes,
            payload_bytes,
        }) = packet.segmentation
        else {
            return self.one_frame(whole);
        };
        let (header, segment) = (u64::from(header_bytes), u64::from(payload_bytes.get()));
        let payload = whole.saturating_sub(header);
        let (full, rest) = (payload / segment, payload % segment);
        let mut bytes = full * self.frame_time_bytes(header + segment);
        let mut frames = full;
        if rest > 0 || full == 0 {
            bytes += self.frame_time_bytes(header + rest);
            frames += 1;
        }
        WireTime { bytes, frames }
    }

    /// Link time of one segment of a packet, and whether it is the packet's last.
    #[inline]
    pub(super) fn segment_time(self, packet: &Packet, index: u32) -> (WireTime, bool) {
        let whole = u64::from(packet.wire_bytes());
        let Some(Segmentation {
            header_bytes,
            payload_bytes,
        }) = packet.segmentation
        else {
            return (self.one_frame(whole), true);
        };
        let (header, segment) = (u64::from(header_bytes), u64::from(payload_bytes.get()));
        let before = u64::from(index) * segment;
        let left = whole.saturating_sub(header).saturating_sub(before);
        (self.one_frame(header + left.min(segment)), left <= segment)
    }

    const fn one_frame(self, frame_bytes: u64) -> WireTime {
        WireTime {
            bytes: self.frame_time_bytes(frame_bytes),
            frames: 1,
        }
    }
}
