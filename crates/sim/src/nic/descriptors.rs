//! Descriptors of packets, and the stop and restart thresholds of a ring.

use taut_path::{Packet, Segmentation};
use thiserror::Error;

use crate::HEADER_BYTES;

/// Number of descriptors that a device needs for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescriptorRule {
    /// One for each packet, whatever its size.
    #[default]
    OnePerPacket,
    /// An e1000: one context descriptor, one for the headers, and one for each fragment of a page
    /// that the payload touches. About 3.35 for 1,514 bytes, 19 for a 64 KB GSO packet.
    E1000,
    /// One to start, one to be parsed, and one for each page of a page-aligned payload: 18 for a
    /// GSO packet of 64 KB.
    WholePages,
}

/// Memory page by which the e1000 rule fragments payload, in bytes.
const PAGE_BYTES: u32 = 4096;

impl DescriptorRule {
    /// Returns the maximum descriptors of a packet.
    pub const fn slots_of_largest(self) -> u32 {
        match self {
            Self::OnePerPacket => 1,
            // 2 + 17 page fragments of 64 KiB of payload that starts in the middle of a page, and
            // one to spare. This is the published stop threshold.
            Self::E1000 => 20,
            Self::WholePages => 18,
        }
    }

    /// Returns the free descriptors at which a stopped ring restarts. This is the published value
    /// for the e1000. Otherwise it is half of the ring, because the ring must be refilled before it
    /// drains.
    pub fn restart_slots(self, slots: u32) -> u32 {
        match self {
            Self::OnePerPacket => (slots / 2).max(1),
            // A few more than the stop threshold, as for the e1000.
            Self::E1000 | Self::WholePages => 32,
        }
    }
}

/// Counts the free descriptors of a ring.
#[derive(Debug, Clone)]
pub struct DescriptorRing {
    rule: DescriptorRule,
    slots: u32,
    slots_of_largest: u32,
    used: u32,
    /// Offset of the next payload in its page. Payloads are contiguous in memory, as in a socket's
    /// buffer, so every offset occurs over many packets.
    page_offset: u32,
}

/// Errors of NIC settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NicConfigError {
    /// A link of 0 bit/s sends nothing.
    #[error("rate_bits_per_s is 0; allowed: 1 or more")]
    RateZero,
    /// The ring is smaller than its largest packet.
    #[error("the ring has {slots} descriptors; allowed: {min_slots} or more")]
    RingTooSmall {
        /// The requested slots.
        slots: u32,
        /// The minimum for this rule.
        min_slots: u32,
    },
}

impl DescriptorRing {
    /// Creates an empty ring of `slots` descriptors.
    ///
    /// # Errors
    /// If a stopped ring of that size could never restart.
    pub fn new(slots: u32, rule: DescriptorRule) -> Result<Self, NicConfigError> {
        let min_slots = rule.restart_slots(slots).max(rule.slots_of_largest());
        if slots < min_slots {
            return Err(NicConfigError::RingTooSmall { slots, min_slots });
        }
        Ok(Self {
            rule,
            slots,
            slots_of_largest: rule.slots_of_largest(),
            used: 0,
            page_offset: 0,
        })
    }

    /// Returns the total number of descriptors.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the number of free descriptors.
    pub const fn slots_free(&self) -> u32 {
        self.slots - self.used
    }

    /// Returns the maximum descriptors of a packet; the queue stops while fewer are free.
    pub const fn slots_of_largest(&self) -> u32 {
        self.slots_of_largest
    }

    /// Returns the free descriptors at which a stopped queue restarts.
    pub fn restart_slots(&self) -> u32 {
        self.rule.restart_slots(self.slots)
    }

    /// Allocates the descriptors of `packet`, at most the free ones, and returns their number.
    /// Release them with [`release`](Self::release).
    pub fn take(&mut self, packet: &Packet) -> u32 {
        let slots = match self.rule {
            DescriptorRule::OnePerPacket => 1,
            DescriptorRule::E1000 => self.e1000_slots(packet),
            DescriptorRule::WholePages => {
                (2 + payload_bytes(packet).div_ceil(PAGE_BYTES)).min(self.slots_of_largest())
            }
        };
        let slots = slots.min(self.slots_free());
        self.used += slots;
        slots
    }

    /// Releases descriptors.
    pub fn release(&mut self, slots: u32) {
        debug_assert!(
            slots <= self.used,
            "{slots} descriptors released, {} allocated",
            self.used
        );
        self.used = self.used.saturating_sub(slots);
    }

    fn e1000_slots(&mut self, packet: &Packet) -> u32 {
        let payload_bytes = payload_bytes(packet);
        if payload_bytes == 0 {
            return 2;
        }
        let end = self.page_offset + payload_bytes % PAGE_BYTES;
        let pages = payload_bytes / PAGE_BYTES + end.div_ceil(PAGE_BYTES);
        self.page_offset = end % PAGE_BYTES;
        (2 + pages).min(self.slots_of_largest())
    }
}

fn payload_bytes(packet: &Packet) -> u32 {
    let header_bytes = match packet.segmentation {
        Some(Segmentation { header_bytes, .. }) => header_bytes,
        None => HEADER_BYTES,
    };
    packet.wire_bytes().saturating_sub(header_bytes.into())
}
