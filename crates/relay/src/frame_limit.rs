//! The longest frame that a device carries.

use taut_linux::{ETHERNET_HEADER_BYTES, tag_bytes};

/// The longest frame by the MTU of a device, which VLAN tags can exceed.
#[derive(Debug)]
pub(crate) struct FrameLimit {
    /// Without a VLAN tag.
    bytes: u32,
    /// Returns the bytes by which a frame can exceed the limit because of its tags.
    extra_bytes: fn(&[u8]) -> u32,
}

impl FrameLimit {
    /// Creates the limit of a device with this MTU. A frame can exceed it by `extra_bytes`.
    pub fn new(mtu_bytes: u32, extra_bytes: fn(&[u8]) -> u32) -> Self {
        Self {
            bytes: mtu_bytes.saturating_add(ETHERNET_HEADER_BYTES),
            extra_bytes,
        }
    }

    pub fn set_mtu(&mut self, mtu_bytes: u32) {
        *self = Self::new(mtu_bytes, self.extra_bytes);
    }

    /// Returns the maximum length of a frame with the tags of `frame`.
    pub fn max_bytes(&self, frame: &[u8]) -> u32 {
        self.bytes.saturating_add((self.extra_bytes)(frame))
    }

    /// Returns `true` if `bytes` with the tags of `frame` would not be too long without them.
    pub fn is_exceeded_by_tags(&self, frame: &[u8], bytes: usize) -> bool {
        bytes <= self.bytes.saturating_add(tag_bytes(frame)) as usize
    }
}
