//! What frames cost on the wire.

use taut_path::{Packet, Segmentation};

/// A frame is padded to this many bytes, check sequence not counted.
const MIN_FRAME_BYTES: u64 = 60;

/// Check sequence 4, preamble and start delimiter 8, gap between frames 12.
const FRAME_OVERHEAD_BYTES: u64 = 24;

/// Bytes of link time that one frame of `frame_bytes` holds the wire for.
pub const fn frame_time_bytes(frame_bytes: u64) -> u64 {
    let padded = if frame_bytes < MIN_FRAME_BYTES {
        MIN_FRAME_BYTES
    } else {
        frame_bytes
    };
    padded + FRAME_OVERHEAD_BYTES
}

/// Bytes of link time of a packet, and the frames it becomes. A super-packet is cut into segments
/// that each carry the headers again.
pub fn wire_time(packet: &Packet) -> WireTime {
    let whole = u64::from(packet.wire_bytes);
    let Some(Segmentation {
        header_bytes,
        payload_bytes,
    }) = packet.segmentation
    else {
        return WireTime {
            bytes: frame_time_bytes(whole),
            frames: 1,
        };
    };
    let (header, segment) = (u64::from(header_bytes), u64::from(payload_bytes.max(1)));
    let payload = whole.saturating_sub(header);
    let (full, rest) = (payload / segment, payload % segment);
    let mut bytes = full * frame_time_bytes(header + segment);
    let mut frames = full;
    if rest > 0 || full == 0 {
        bytes += frame_time_bytes(header + rest);
        frames += 1;
    }
    WireTime { bytes, frames }
}

/// How long a packet holds the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireTime {
    /// Bytes of link time, padding and gaps included.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
}

/// Link time of one segment of a packet, and whether it is the packet's last.
pub(super) fn segment_time(packet: &Packet, index: u32) -> (WireTime, bool) {
    let whole = u64::from(packet.wire_bytes);
    let one_frame = |bytes| WireTime {
        bytes: frame_time_bytes(bytes),
        frames: 1,
    };
    let Some(Segmentation {
        header_bytes,
        payload_bytes,
    }) = packet.segmentation
    else {
        return (one_frame(whole), true);
    };
    let (header, segment) = (u64::from(header_bytes), u64::from(payload_bytes.max(1)));
    let before = u64::from(index) * segment;
    let left = whole.saturating_sub(header).saturating_sub(before);
    (one_frame(header + left.min(segment)), left <= segment)
}
