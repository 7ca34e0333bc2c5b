//! How a NIC is made.

use core::fmt;

use super::descriptors::{DescriptorRule, RingTooSmall};
use super::interrupt::InterruptRule;

/// What a link adds to each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// A frame is padded to this many bytes.
    pub min_frame_bytes: u32,
    /// Link time of each frame beyond its bytes, in bytes.
    pub overhead_bytes: u32,
}

impl Framing {
    /// Ethernet: padded to 60 bytes; check sequence 4, preamble and start delimiter 8, gap 12.
    pub const ETHERNET: Self = Self {
        min_frame_bytes: 60,
        overhead_bytes: 24,
    };

    /// A link on which a frame takes its own bytes and nothing else.
    pub const BARE: Self = Self {
        min_frame_bytes: 0,
        overhead_bytes: 0,
    };

    /// Bytes of link time that one frame of `frame_bytes` holds the wire for.
    pub const fn frame_time_bytes(self, frame_bytes: u64) -> u64 {
        let min_frame_bytes = self.min_frame_bytes as u64;
        let padded = if frame_bytes < min_frame_bytes {
            min_frame_bytes
        } else {
            frame_bytes
        };
        padded + self.overhead_bytes as u64
    }
}

/// When a packet counts as finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinishedAt {
    /// When its last bit has left.
    #[default]
    End,
    /// When its last frame goes on the wire: what is on the wire is no longer in the device queue.
    Start,
}

/// How a NIC is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicConfig {
    /// Link rate, in bit/s; at least 1.
    pub rate_bits_per_s: u64,
    /// What the link adds to each frame.
    pub framing: Framing,
    /// Descriptors of the ring.
    pub slots: u32,
    /// How many of them a packet takes.
    pub rule: DescriptorRule,
    /// When it interrupts.
    pub interrupt: InterruptRule,
    /// When a packet counts as finished.
    pub finished_at: FinishedAt,
    /// Whether each segment of a super-packet is a frame event of its own, rather than all together
    /// with the last.
    pub segments_apart: bool,
    /// Seed of jitter and rare gaps.
    pub seed: u64,
}

impl NicConfig {
    /// A card on a link that adds nothing to a frame: a descriptor for each packet, and an
    /// interrupt as soon as it has left. What differs is said with `..`.
    pub const fn plain(rate_bits_per_s: u64, slots: u32) -> Self {
        Self {
            rate_bits_per_s,
            framing: Framing::BARE,
            slots,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(0),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: 1,
        }
    }
}

/// Why a NIC could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicConfigError {
    /// A link of 0 bit/s sends nothing.
    RateZero,
    /// The ring cannot hold what it must.
    Ring(RingTooSmall),
}

impl fmt::Display for NicConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RateZero => f.write_str("the link rate is 0; it must be at least 1 bit/s"),
            Self::Ring(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NicConfigError {}
