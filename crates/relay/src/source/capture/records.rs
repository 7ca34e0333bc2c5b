//! The packets of a capture.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::account::reject;

/// Link type of Ethernet frames.
const ETHERNET: u16 = 1;
/// Maximum length of a frame, in bytes. No device sends longer frames.
const MAX_FRAME_BYTES: usize = 1 << 18;
/// Length of an FCS of Ethernet, in bytes.
const FCS_BYTES: u32 = 4;

/// A packet of a file.
pub(super) struct Packet {
    /// The captured bytes, as a range of the file, or why there are none.
    pub data: Result<Range<usize>, &'static str>,
    /// Length on the wire, in bytes, with the FCS if it was captured.
    pub original: u32,
    pub has_fcs: bool,
    pub link: u16,
    /// Time since 1970, in ns.
    pub time_ns: Option<i128>,
}

/// A packet as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// The frame, as a range of the file, or why it cannot be sent.
    pub frame: Result<Range<usize>, &'static str>,
    /// Time after the first packet, in ns.
    pub due_ns: u64,
}

/// The packets of a file.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub all: Vec<Record>,
    pub times: Times,
    /// Link types other than Ethernet.
    pub other_links: BTreeSet<u16>,
}

impl Records {
    /// Adds a packet, or why one cannot be sent.
    pub fn push(&mut self, packet: Result<Packet, &'static str>) {
        let time_ns = packet.as_ref().ok().and_then(|packet| packet.time_ns);
        let due_ns = self.times.offset_ns(time_ns);
        let frame = packet.and_then(|packet| self.frame(packet));
        self.all.push(Record { frame, due_ns });
    }

    /// Returns the frame without its FCS, because the device appends one.
    fn frame(&mut self, packet: Packet) -> Result<Range<usize>, &'static str> {
        let fcs_bytes = if packet.has_fcs { FCS_BYTES } else { 0 };
        let frame_bytes = packet.original.saturating_sub(fcs_bytes) as usize;
        let data = packet.data?;
        match packet.link {
            ETHERNET if frame_bytes > MAX_FRAME_BYTES => Err(reject::LONGER_THAN_MTU),
            ETHERNET if frame_bytes > data.len() => Err(reject::TRUNCATED_IN_CAPTURE),
            ETHERNET => Ok(data.start..data.start + frame_bytes),
            link => {
                self.other_links.insert(link);
                Err(reject::NOT_ETHERNET)
            }
        }
    }
}

/// A time this much earlier than the latest is a step of the clock, in ns; packets of several
/// queues are reordered by less.
const STEP_BACK_NS: i128 = 1_000_000_000;
/// A gap longer than this is a step of the clock, in ns: a day.
const STEP_FORWARD_NS: i128 = 86_400_000_000_000;

/// Converts timestamps to offsets. A packet older than an earlier one has the offset of that.
#[derive(Debug, Default)]
pub(super) struct Times {
    latest_ns: Option<i128>,
    offset_ns: u64,
    /// Steps of the clock that were skipped.
    pub steps: u64,
}

impl Times {
    /// Returns the offset of the next packet, in ns; the previous offset without a timestamp.
    pub fn offset_ns(&mut self, time_ns: Option<i128>) -> u64 {
        let Some(time_ns) = time_ns else {
            return self.offset_ns;
        };
        let gap_ns = time_ns - self.latest_ns.unwrap_or(time_ns);
        if !(-STEP_BACK_NS..=STEP_FORWARD_NS).contains(&gap_ns) {
            self.steps += 1;
            self.latest_ns = Some(time_ns);
        } else if gap_ns >= 0 {
            self.latest_ns = Some(time_ns);
            self.offset_ns = self.offset_ns.saturating_add(gap_ns as u64);
        }
        self.offset_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_clock_are_skipped() {
        let second = 1_000_000_000;
        let mut times = Times::default();
        let offsets = [
            (Some(100 * second), 0),
            (None, 0),
            (Some(102 * second), 2),
            // Reordered, then on time.
            (Some(102 * second - 1), 2),
            (Some(103 * second), 3),
            // The clock is set back, and later forward by years.
            (Some(50 * second), 3),
            (Some(51 * second), 4),
            (Some(1_700_000_000 * second), 4),
            (Some(1_700_000_001 * second), 5),
            (Some(-1_700_000_001 * second), 5),
        ];
        for (time_ns, seconds) in offsets {
            let offset_ns = times.offset_ns(time_ns);
            assert_eq!(offset_ns, seconds * 1_000_000_000, "{time_ns:?}");
        }
        assert_eq!(times.steps, 3);
    }
}
