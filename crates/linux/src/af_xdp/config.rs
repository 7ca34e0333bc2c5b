//! What an AF_XDP socket is opened with.

use std::io;

use crate::error::invalid;

/// Slots where nothing else is said and the device says nothing: those of an e1000.
const DEFAULT_SLOTS: u32 = 1024;
/// The most slots of a ring: more than any hardware ring has.
const SLOTS_LIMIT: u32 = 1 << 16;

/// How frames get from the umem to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum XdpMode {
    /// Zero-copy where the driver has it, else copy.
    #[default]
    Auto,
    /// The device reads the umem itself. **Never run on hardware**: no device here has it; the
    /// rings were tested against a mock of one.
    ZeroCopy,
    /// The kernel copies each frame; every driver has it.
    Copy,
}

/// How packets are caught for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// In the driver where it can, else in the stack.
    Auto,
    /// In the driver, before the kernel makes anything of the frame.
    Native,
    /// In the stack: every driver has it.
    Generic,
}

/// What an AF_XDP socket is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XdpConfig {
    /// The device's queue, counted from 0.
    pub queue: u32,
    /// Packets in the ring at most, 1..=65536; `0` for 1024. The kernel's rings are the next power
    /// of two, so what a card reports (511, or 0 for a bond) can be said as it is.
    pub slots: u32,
    /// Frames in all, 1..=2^20 and more than [`fill_frames`](Self::fill_frames): for what waits,
    /// what is in the ring, and what the FILL ring takes.
    pub frames: u32,
    /// Bytes of each frame, 2048 or 4096. What is received has 256 bytes less, and what is sent
    /// with [`metadata`](Self::metadata) 64.
    pub frame_bytes: u32,
    /// Frames that go into the FILL ring at bind though nothing is received: some drivers refuse to
    /// start, or leak, without (agave#6836, #7284). They stay there, and are no completions.
    /// Whoever [receives](super::AfXdp::open_both) receives into so many.
    pub fill_frames: u32,
    /// Copy or zero-copy.
    pub mode: XdpMode,
    /// Frames that one system call may move in copy mode, up to the slots. The kernel's own default
    /// is 32 and needs Linux 6.18 to be changed: where that is missing, more calls are made.
    pub budget_packets: u32,
    /// Room before each frame for what the kernel is to do with it, such as
    /// [finishing a checksum](super::UmemFrames::complete_checksum). Needs Linux 6.8.
    pub metadata: bool,
}

impl Default for XdpConfig {
    /// Queue 0, 1024 slots, 4096 frames of 2048 bytes of which 64 for the FILL ring, zero-copy or
    /// else copy, the whole ring in one call, no metadata.
    fn default() -> Self {
        Self {
            queue: 0,
            slots: DEFAULT_SLOTS,
            frames: 4096,
            frame_bytes: 2048,
            fill_frames: 64,
            mode: XdpMode::Auto,
            budget_packets: DEFAULT_SLOTS,
            metadata: false,
        }
    }
}

/// `struct xsk_tx_metadata`, which has 24 bytes.
pub(super) const METADATA_BYTES: u32 = 24;

/// Where packets of ours start in their frames when there is metadata before them: at a cache line.
pub(super) const START_ALIGNMENT_BYTES: u32 = 64;

impl XdpConfig {
    /// Packets in the ring at most.
    pub(super) fn capacity_slots(&self) -> u32 {
        match self.slots {
            0 => DEFAULT_SLOTS,
            slots => slots,
        }
    }

    /// Slots of the kernel's rings.
    pub(super) fn ring_slots(&self) -> u32 {
        self.capacity_slots().next_power_of_two()
    }

    pub(super) fn metadata_bytes(&self) -> u32 {
        if self.metadata { METADATA_BYTES } else { 0 }
    }

    /// Slots of the FILL ring, which is also the size of the RX ring; the kernel wants one at
    /// least.
    pub(super) fn fill_slots(&self) -> u32 {
        self.fill_frames.max(1).next_power_of_two()
    }

    pub(super) fn validate(&self) -> io::Result<()> {
        if self.slots > SLOTS_LIMIT {
            return Err(invalid(format!(
                "ring of {} slots: 1 to {SLOTS_LIMIT}, or 0 for {DEFAULT_SLOTS}",
                self.slots
            )));
        }
        if self.frames == 0 {
            return Err(invalid("0 frames: at least 1".to_owned()));
        }
        if self.fill_frames >= self.frames.min(SLOTS_LIMIT + 1) {
            return Err(invalid(format!(
                "{} frames for the FILL ring of {} in all: fewer, and at most {SLOTS_LIMIT}",
                self.fill_frames, self.frames
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
    fn what_a_card_reports_becomes_a_power_of_two() {
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
    fn frames_for_the_fill_ring_leave_some_to_send() {
        let config = XdpConfig {
            frames: 64,
            ..XdpConfig::default()
        };
        let error = config
            .validate()
            .expect_err("all would be in the FILL ring");
        assert!(
            error.to_string().contains("64 frames for the FILL ring"),
            "{error}"
        );
    }
}
