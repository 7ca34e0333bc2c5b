//! Settings of an AF_XDP socket.

use std::io;

use crate::error::{check_range, invalid};

/// Default number of slots if the device does not report one: that of an e1000.
const DEFAULT_SLOTS: u32 = 1024;
/// Maximum number of slots: more than any hardware ring has.
const SLOTS_LIMIT: u32 = 1 << 16;
/// Maximum number of frames: 4 GiB with 4 KB each.
const FRAMES_LIMIT: u32 = 1 << 20;

/// How frames get from the umem to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum XdpMode {
    /// Zero-copy if the driver supports it, else copy.
    #[default]
    Auto,
    /// The device reads the umem directly. **Never run on hardware**: no device was available. The
    /// rings were tested against a mock.
    ZeroCopy,
    /// The kernel copies each frame. Every driver supports this.
    Copy,
}

/// Where received packets are redirected to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// In the driver if it supports that, else in the stack.
    Auto,
    /// In the driver, before the kernel allocates an skb.
    Native,
    /// In the stack: every driver supports this.
    Generic,
}

/// Settings of an AF_XDP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XdpConfig {
    /// The device's queue, counted from 0.
    pub queue: u32,
    /// Maximum number of packets in the ring, 1..=65536; `0` for 1024. The kernel's rings are the
    /// next power of two, so the number that a card reports can be used directly (511, or 0 for a
    /// bond).
    pub slots: u32,
    /// Number of frames, 1..=2^20 and more than [`fill_frames`](Self::fill_frames): for packets
    /// that wait, for the ring, and for the FILL ring.
    pub frames: u32,
    /// Size of a frame in bytes, 2048 or 4096. A received packet has 256 bytes less.
    pub frame_bytes: u32,
    /// Frames put into the FILL ring at bind even if nothing is received: without them, some
    /// drivers fail to start or leak memory (agave#6836, #7284). They stay there, and are not
    /// completions. A socket that [receives](super::AfXdp::open_both) uses this many frames for
    /// receiving.
    pub fill_frames: u32,
    /// Copy or zero-copy.
    pub mode: XdpMode,
}

impl Default for XdpConfig {
    /// Queue 0, 1024 slots, 4096 frames of 2048 bytes of which 64 are for the FILL ring, zero-copy
    /// or else copy.
    fn default() -> Self {
        Self {
            queue: 0,
            slots: DEFAULT_SLOTS,
            frames: 4096,
            frame_bytes: 2048,
            fill_frames: 64,
            mode: XdpMode::Auto,
        }
    }
}

impl XdpConfig {
    /// Returns the maximum number of packets in the ring.
    pub(super) fn capacity_slots(&self) -> u32 {
        match self.slots {
            0 => DEFAULT_SLOTS,
            slots => slots,
        }
    }

    /// Returns the slots of the kernel's rings.
    pub(super) fn ring_slots(&self) -> u32 {
        self.capacity_slots().next_power_of_two()
    }

    /// Returns the slots of the FILL ring, which is also the size of the RX ring. The kernel
    /// requires at least one.
    pub(super) fn fill_slots(&self) -> u32 {
        self.fill_frames.max(1).next_power_of_two()
    }

    pub(super) fn validate(&self) -> io::Result<()> {
        let (slots, fill_frames) = (self.slots, self.fill_frames);
        let (frames, frame_bytes) = (self.frames, self.frame_bytes);
        if slots > SLOTS_LIMIT {
            return Err(invalid(format!(
                "slots is {slots}; allowed: 1 to {SLOTS_LIMIT}, or 0 for {DEFAULT_SLOTS}"
            )));
        }
        check_range("frames", frames, 1..=FRAMES_LIMIT)?;
        if ![2048, 4096].contains(&frame_bytes) {
            return Err(invalid(format!(
                "frame_bytes is {frame_bytes}; allowed: 2048 or 4096"
            )));
        }
        if fill_frames >= frames.min(SLOTS_LIMIT + 1) {
            return Err(invalid(format!(
                "fill_frames is {fill_frames}; allowed: fewer than frames ({frames}), at most \
                 {SLOTS_LIMIT}"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_slots(slots: u32) -> XdpConfig {
        XdpConfig {
            slots,
            ..XdpConfig::default()
        }
    }

    #[test]
    fn slots_are_rounded_to_a_power_of_two() {
        for (reported, capacity, ring) in [(511, 511, 512), (512, 512, 512), (0, 1024, 1024)] {
            let config = with_slots(reported);
            config.validate().expect("allowed");
            assert_eq!(
                (config.capacity_slots(), config.ring_slots()),
                (capacity, ring)
            );
        }
        assert!(with_slots(SLOTS_LIMIT + 1).validate().is_err());
    }

    #[test]
    fn fill_ring_leaves_frames_for_sending() {
        let config = XdpConfig {
            frames: 64,
            ..XdpConfig::default()
        };
        let error = config
            .validate()
            .expect_err("all would be in the FILL ring");
        assert!(
            error
                .to_string()
                .contains("fill_frames is 64; allowed: fewer"),
            "{error}"
        );
    }
}
