//! Access of a copying driver to the bytes of a packet.

use taut_path::Packet;
use taut_path::pool::FramePool;

use crate::frames::Frames;

/// The bytes of packets, independent of their memory.
pub trait FrameSource {
    /// Copies the packet's bytes to the start of `out`, as many as fit. Returns the length of the
    /// packet: more than `out.len()` means that it was truncated.
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize;

    /// Returns `true` if the source can write the segments of a GSO packet.
    fn cuts(&self) -> bool {
        false
    }

    /// Writes the segment `piece`, a chunk of one segment, to the start of `out`, with all
    /// checksums complete. Returns its length, or `None` if the source cannot, or `out` is too
    /// short.
    fn write_segment(&self, piece: &Packet, out: &mut [u8]) -> Option<usize> {
        let _ = (piece, out);
        None
    }
}

/// The packet's bytes are the first [`Packet::wire_bytes`] of its frame.
impl FrameSource for FramePool {
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        copy_frame(self, packet, out)
    }
}

/// Copies the bytes of a packet that start its frame, as [`FrameSource::copy_to`] does.
pub(crate) fn copy_frame(frames: &impl Frames, packet: &Packet, out: &mut [u8]) -> usize {
    let length = packet.wire_bytes() as usize;
    let copy = |bytes: &mut [u8]| {
        let fits = length.min(out.len()).min(bytes.len());
        out[..fits].copy_from_slice(&bytes[..fits]);
        length
    };
    // A frame of another pool has no bytes, which is too few for any device.
    frames.with(packet.frame(), copy).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_path::PacketSink;

    #[test]
    fn too_long_packet_is_truncated_and_reported() {
        let mut pool = FramePool::new(1, 64);
        let packet = pool.packet(b"abc").expect("free");
        let mut out = [0; 2];
        assert_eq!(pool.copy_to(&packet, &mut out), 3);
        assert_eq!(&out, b"ab");
        pool.freed(packet);
    }

    #[test]
    fn foreign_frame_has_no_bytes() {
        let pool = FramePool::new(1, 64);
        let packet = Packet::new(taut_path::Frame::new(7), 3);
        assert_eq!(pool.copy_to(&packet, &mut [0; 8]), 0);
    }
}
