//! The interface to frames: in plain memory, or in memory that a device reads directly.

use taut_path::pool::{FramePool, PoolError};
use taut_path::{Frame, Packet, PacketSink};

use crate::vnet_header::VirtioNetHeader;

/// Frames with their bytes, usable from any thread. A program fills them, and packets return to
/// them. A clone refers to the same frames.
///
/// [`FramePool`] is plain memory, for drivers that copy; an AF_XDP socket sends from
/// [`UmemFrames`](crate::af_xdp::UmemFrames).
pub trait Frames: PacketSink + Clone + Send {
    /// Takes a free frame; `None` if there is none.
    fn take(&self) -> Option<Frame>;

    /// Releases a frame.
    ///
    /// # Errors
    /// Returns an error if the frame is not taken: it was released before, or belongs to another
    /// pool.
    fn release(&self, frame: Frame) -> Result<(), PoolError>;

    /// Lends the whole space of a frame to `work`.
    ///
    /// # Errors
    /// Returns an error if the frame is not taken, or is lent already.
    fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut [u8]) -> R) -> Result<R, PoolError>;

    /// Returns the number of free frames.
    fn free_frames(&self) -> u32;

    /// Returns the number of all frames.
    fn frames(&self) -> u32;

    /// Returns the space of each frame, in bytes.
    fn frame_bytes(&self) -> u32;

    /// Returns the space of the longest frames, in bytes.
    fn max_frame_bytes(&self) -> u32 {
        self.frame_bytes()
    }

    /// Takes a free frame with room for `bytes`, at most
    /// [`max_frame_bytes`](Self::max_frame_bytes); `None` if there is none.
    fn take_for(&self, bytes: u32) -> Option<Frame> {
        let _ = bytes;
        self.take()
    }

    /// Stores a GSO packet, and returns a packet that a driver segments as `header` describes.
    /// `None` if these frames hold no GSO packets, if it cannot be segmented, or if no frame for
    /// one is free. Its charge is its whole frame.
    fn gso_packet(&self, header: VirtioNetHeader, frame: &[u8]) -> Option<Packet> {
        let _ = (header, frame);
        None
    }

    /// Takes a free frame, copies `bytes` to its start and returns a packet of it.
    ///
    /// # Errors
    /// Returns an error if no frame is free, or if `bytes` exceed a frame.
    fn packet(&self, bytes: &[u8]) -> Result<Packet, PoolError> {
        let (length, frame_bytes) = (bytes.len(), self.max_frame_bytes());
        if length > frame_bytes as usize {
            return Err(PoolError::TooLong {
                bytes: length,
                frame_bytes,
            });
        }
        let frames = self.frames();
        // Cannot truncate: it fits into a frame, whose size has 32 bits.
        let frame = self
            .take_for(length as u32)
            .ok_or(PoolError::Empty { frames })?;
        match self.with(&frame, |space| space[..length].copy_from_slice(bytes)) {
            Ok(()) => Ok(Packet::new(frame, length as u32)),
            Err(error) => self.release(frame).and(Err(error)),
        }
    }
}

impl Frames for FramePool {
    fn take(&self) -> Option<Frame> {
        Self::take(self)
    }

    fn release(&self, frame: Frame) -> Result<(), PoolError> {
        Self::release(self, frame)
    }

    fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut [u8]) -> R) -> Result<R, PoolError> {
        Self::with(self, frame, work)
    }

    fn free_frames(&self) -> u32 {
        Self::free_frames(self)
    }

    fn frames(&self) -> u32 {
        Self::frames(self)
    }

    fn frame_bytes(&self) -> u32 {
        Self::frame_bytes(self)
    }
}

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
