//! The frames that AF_XDP sockets send from and receive into.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use taut_path::pool::PoolError;
use taut_path::{DropReason, Frame, Packet, PacketSink};

use crate::frames::Frames;
use crate::sys::umem::Umem;

/// Frames of one umem, usable from any thread. A clone refers to the same frames.
///
/// Free frames are used in FIFO order, so a frame whose completion was lost is reused as late as
/// possible. The frame of an unknown completion is not released, as with
/// [`FramePool`](taut_path::pool::FramePool).
#[derive(Debug, Clone)]
pub struct UmemFrames(Arc<UmemState>);

#[derive(Debug)]
struct UmemState {
    umem: Umem,
    /// Offset of the packet in each frame, in bytes; 0 for a packet that was not received.
    starts: Box<[AtomicU32]>,
    rejected_frames: AtomicU64,
}

impl UmemFrames {
    pub(super) fn new(frames: u32, frame_bytes: u32) -> io::Result<Self> {
        Ok(Self(Arc::new(UmemState {
            umem: Umem::new(frames, frame_bytes)?,
            starts: (0..frames).map(|_| AtomicU32::new(0)).collect(),
            rejected_frames: AtomicU64::new(0),
        })))
    }

    pub(super) fn umem(&self) -> &Umem {
        &self.0.umem
    }

    /// Returns where the packet in the frame starts in the umem, in bytes.
    #[inline]
    pub(super) fn place(&self, index: u32) -> u64 {
        self.whole_frame(index) + u64::from(self.start(index))
    }

    /// Returns the offset of the packet in its frame, in bytes.
    #[inline]
    pub(super) fn start(&self, index: u32) -> u32 {
        let start = self.0.starts.get(index as usize);
        start.map_or(0, |start| start.load(Ordering::Relaxed))
    }

    /// Returns the frame that holds an address of the umem; an index out of range for an address
    /// beyond it.
    #[inline]
    pub(super) fn index_of(&self, address: u64) -> u32 {
        let index = address / u64::from(self.frame_bytes());
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Returns where the frame itself starts in the umem, in bytes.
    pub(super) fn whole_frame(&self, index: u32) -> u64 {
        u64::from(index) * u64::from(self.frame_bytes())
    }

    /// Stores the `address` at which a received packet starts in its frame.
    pub(super) fn starts_at(&self, index: u32, address: u64) {
        let offset = address - self.whole_frame(index);
        if let Some(start) = self.0.starts.get(index as usize) {
            start.store(offset as u32, Ordering::Relaxed);
        }
    }

    fn pool_error(&self, index: u32) -> PoolError {
        let frames = self.0.umem.frames();
        if index >= frames {
            PoolError::NoSuchFrame { index, frames }
        } else if self.0.umem.is_out(index) {
            PoolError::InUse { index }
        } else {
            PoolError::NotTaken { index }
        }
    }

    /// Returns the number of frames that were released but not taken: twice, or of another pool.
    pub fn rejected_frames(&self) -> u64 {
        self.0.rejected_frames.load(Ordering::Relaxed)
    }
}

impl Frames for UmemFrames {
    #[inline]
    fn take(&self) -> Option<Frame> {
        let index = self.0.umem.take()?;
        self.0.starts[index as usize].store(0, Ordering::Relaxed);
        Some(Frame::new(index))
    }

    #[inline]
    fn release(&self, frame: Frame) -> Result<(), PoolError> {
        let index = frame.index();
        if self.0.umem.release(index) {
            return Ok(());
        }
        self.0.rejected_frames.fetch_add(1, Ordering::Relaxed);
        Err(self.pool_error(index))
    }

    /// Lends the space from the start of the packet; a received packet can start at any offset.
    #[inline]
    fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut [u8]) -> R) -> Result<R, PoolError> {
        let index = frame.index();
        let lent = self.0.umem.with(index, |bytes| {
            let start = (self.start(index) as usize).min(bytes.len());
            work(&mut bytes[start..])
        });
        lent.ok_or_else(|| self.pool_error(index))
    }

    fn free_frames(&self) -> u32 {
        self.0.umem.free_frames()
    }

    fn frames(&self) -> u32 {
        self.0.umem.frames()
    }

    /// The space for a packet that was not received.
    fn frame_bytes(&self) -> u32 {
        self.0.umem.frame_bytes()
    }
}

impl PacketSink for UmemFrames {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        let _ = self.release(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.freed(packet);
    }
}
