//! How many descriptors packets take, and when a ring stops and starts again.

use taut_path::{Packet, Segmentation};

use crate::HEADER_BYTES;

/// How many descriptors a device needs for one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescriptorRule {
    /// One for each packet, whatever its size.
    #[default]
    OnePerPacket,
    /// An e1000: one context descriptor, one for the headers, and one for each piece of a page
    /// that the payload touches. About 3.35 for 1,514 bytes, 19 for a 64 KB super-packet.
    E1000,
    /// One to start, one to be parsed, and one for each page of a payload that begins a page: 18
    /// for a super-packet of 64 KB.
    WholePages,
}

/// Memory page by which the e1000 rule cuts payload, in bytes.
const PAGE_BYTES: u32 = 4096;

impl DescriptorRule {
    /// The most descriptors that one packet can take.
    pub const fn slots_of_largest(self) -> u32 {
        match self {
            Self::OnePerPacket => 1,
            // 2 + 17 page pieces of 64 KiB of payload that starts in the middle of a page, and one
            // to spare: the published value, at which the ring stops.
            Self::E1000 => 20,
            Self::WholePages => 18,
        }
    }

    /// Free descriptors at which a stopped ring starts again: the published value of the e1000,
    /// half of the ring otherwise, since it must be refilled before it drains.
    pub const fn restart_slots(self, slots: u32) -> u32 {
        match self {
            Self::OnePerPacket => {
                if slots < 2 {
                    1
                } else {
                    slots / 2
                }
            }
            // A few more than it stops at, like that one.
            Self::E1000 | Self::WholePages => 32,
        }
    }
}

/// Counts the descriptors of a ring.
#[derive(Debug, Clone)]
pub struct DescriptorRing {
    rule: DescriptorRule,
    slots: u32,
    slots_of_largest: u32,
    used: u32,
    /// Where in its page the next payload begins. Payloads follow each other in memory, as in a
    /// socket's buffer, so over many packets every offset occurs.
    page_offset: u32,
}

/// A ring smaller than its largest packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingTooSmall {
    /// The slots asked for.
    pub slots: u32,
    /// The least that this rule allows.
    pub min_slots: u32,
}

impl core::fmt::Display for RingTooSmall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "a ring of {} descriptors is too small; at least {}",
            self.slots, self.min_slots
        )
    }
}

impl core::error::Error for RingTooSmall {}

impl DescriptorRing {
    /// An empty ring of `slots` descriptors.
    ///
    /// # Errors
    /// If a stopped ring of that size could never start again.
    pub fn new(slots: u32, rule: DescriptorRule) -> Result<Self, RingTooSmall> {
        let min_slots = rule.restart_slots(slots).max(rule.slots_of_largest());
        if slots < min_slots {
            return Err(RingTooSmall { slots, min_slots });
        }
        Ok(Self {
            rule,
            slots,
            slots_of_largest: rule.slots_of_largest(),
            used: 0,
            page_offset: 0,
        })
    }

    /// All descriptors.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// Descriptors free now.
    pub const fn slots_free(&self) -> u32 {
        self.slots - self.used
    }

    /// The most that one packet can take; the queue stops while fewer are free.
    pub const fn slots_of_largest(&self) -> u32 {
        self.slots_of_largest
    }

    /// Free descriptors at which a stopped queue starts again.
    pub const fn restart_slots(&self) -> u32 {
        self.rule.restart_slots(self.slots)
    }

    /// Takes the descriptors for `packet` and says how many; give them back with
    /// [`give_back`](Self::give_back). Takes no more than there are.
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

    /// Gives descriptors back.
    pub fn give_back(&mut self, slots: u32) {
        debug_assert!(
            slots <= self.used,
            "{slots} descriptors given back, {} taken",
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
