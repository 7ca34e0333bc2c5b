//! Settings of an emulated NIC.

use super::descriptors::DescriptorRule;
use super::interrupt::InterruptRule;

/// Link-layer overhead of each frame.
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

    /// A link on which a frame takes only its own bytes.
    pub const BARE: Self = Self {
        min_frame_bytes: 0,
        overhead_bytes: 0,
    };

    /// Returns the link time of a frame of `frame_bytes`, in bytes.
    #[inline]
    pub fn frame_time_bytes(self, frame_bytes: u64) -> u64 {
        frame_bytes.max(self.min_frame_bytes.into()) + u64::from(self.overhead_bytes)
    }
}

/// When a packet counts as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinishedAt {
    /// When its last bit has left.
    #[default]
    End,
    /// When its last frame starts on the wire: frames on the wire are no longer in the device
    /// queue.
    Start,
}

/// Settings of an emulated NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicConfig {
    /// Link rate, in bit/s; at least 1.
    pub rate_bits_per_s: u64,
    /// Link-layer overhead of each frame.
    pub framing: Framing,
    /// Descriptors of the ring.
    pub slots: u32,
    /// Descriptors that a packet takes.
    pub rule: DescriptorRule,
    /// Interrupt moderation.
    pub interrupt: InterruptRule,
    /// When a packet counts as sent.
    pub finished_at: FinishedAt,
    /// Reports each segment of a GSO packet as a frame event of its own, rather than all together
    /// with the last.
    pub segments_apart: bool,
    /// Seed of jitter and rare gaps.
    pub seed: u64,
}

impl NicConfig {
    /// Returns the settings of a card on a link without overhead, with one descriptor per packet
    /// and an interrupt for each packet. Override other fields with `..`.
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
