//! The seam to where frames are: plain memory, or memory that a device reads itself.

use taut_path::pool::{FramePool, PoolError};
use taut_path::{Frame, Packet, PacketSink};

use crate::vnet_header::VirtioNetHeader;

/// Frames with their bytes, for any thread: what a program fills, and where its packets end. A
/// clone is the same frames.
///
/// [`FramePool`] is plain memory, for drivers that copy;
/// [`UmemFrames`](crate::af_xdp::UmemFrames) is what an AF_XDP socket sends from.
pub trait Frames: PacketSink + Clone + Send {
    /// Takes a free frame; `None` if there is none.
    fn take(&self) -> Option<Frame>;

    /// Takes a frame back.
    ///
    /// # Errors
    /// If the frame is not out: it was given back before, or is of another pool.
    fn release(&self, frame: Frame) -> Result<(), PoolError>;

    /// Lends the whole space of a frame to `work`.
    ///
    /// # Errors
    /// If the frame is not out, or somebody works on it already.
    fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut [u8]) -> R) -> Result<R, PoolError>;

    /// Frames that can be taken now.
    fn free_frames(&self) -> u32;

    /// Frames in all.
    fn frames(&self) -> u32;

    /// Space of each frame, in bytes.
    fn frame_bytes(&self) -> u32;

    /// Keeps a GSO packet whole, as `header` says how to cut it, and makes a packet of it whose
    /// segments a driver writes; `None` if these frames keep none, it is none that is cut, or no
    /// frame for one is free. Its charge is that of its whole frame.
    fn gso_packet(&self, header: VirtioNetHeader, frame: &[u8]) -> Option<Packet> {
        let _ = (header, frame);
        None
    }

    /// Takes a free frame, copies `bytes` to its start and makes a packet of it.
    ///
    /// # Errors
    /// If no frame is free, or `bytes` are more than a frame holds.
    fn packet(&self, bytes: &[u8]) -> Result<Packet, PoolError> {
        let (length, frame_bytes) = (bytes.len(), self.frame_bytes());
        if length > frame_bytes as usize {
            return Err(PoolError::TooLong {
                bytes: length,
                frame_bytes,
            });
        }
        let frames = self.frames();
        let frame = self.take().ok_or(PoolError::Empty { frames })?;
        match self.with(&frame, |space| space[..length].copy_from_slice(bytes)) {
            // It fits into a frame, whose size is of 32 bits.
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
        Self::give_back(self, frame)
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

    fn packet(&self, bytes: &[u8]) -> Result<Packet, PoolError> {
        Self::packet(self, bytes)
    }
}
