//! How a driver that copies gets at the bytes of a packet.

use taut_path::Packet;
use taut_path::pool::FramePool;

/// Bytes of packets, wherever they are.
pub trait FrameSource {
    /// Copies the packet's bytes to the start of `out`, as many as fit, and answers how many it
    /// has: more than `out.len()` says that it was cut.
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize;

    /// Whether it can write the segments of a GSO packet.
    fn cuts(&self) -> bool {
        false
    }

    /// Writes the segment that `piece`, of one segment, is to the start of `out`, with all
    /// checksums finished, and answers its length; `None` if it cannot, or there is not room
    /// enough.
    fn write_segment(&self, piece: &Packet, out: &mut [u8]) -> Option<usize> {
        let _ = (piece, out);
        None
    }
}

/// The frame's first bytes are the packet's, as many as [`Packet::wire_bytes`] says.
impl FrameSource for FramePool {
    fn copy_to(&self, packet: &Packet, out: &mut [u8]) -> usize {
        let length = packet.wire_bytes() as usize;
        let copy = |bytes: &mut [u8]| {
            let fits = length.min(out.len()).min(bytes.len());
            out[..fits].copy_from_slice(&bytes[..fits]);
            length
        };
        // A frame that is not of this pool has no bytes: too few for any device.
        self.with(packet.frame(), copy).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_path::PacketSink;

    #[test]
    fn what_does_not_fit_is_cut_and_told() {
        let mut pool = FramePool::new(1, 64);
        let packet = pool.packet(b"abc").expect("free");
        let mut out = [0; 2];
        assert_eq!(pool.copy_to(&packet, &mut out), 3);
        assert_eq!(&out, b"ab");
        pool.freed(packet);
    }

    #[test]
    fn a_strange_frame_has_no_bytes() {
        let pool = FramePool::new(1, 64);
        let packet = Packet::new(taut_path::Frame::new(7), 3);
        assert_eq!(pool.copy_to(&packet, &mut [0; 8]), 0);
    }
}
