//! Frames with their bytes, for programs that keep packets in plain memory.
//!
//! The pool is also a [`PacketSink`], so most programs need no sink of their own:
//! ```
//! use taut_path::pool::{FramePool, PoolError};
//! use taut_path::DropReason;
//! use taut_path::PacketSink;
//!
//! let mut pool = FramePool::new(2, 1514);
//! let packet = pool.packet(b"hello")?;
//! let first = pool.with(packet.frame(), |bytes| bytes[0])?;
//! assert_eq!((first, pool.free_frames()), (b'h', 1));
//!
//! pool.dropped(packet, DropReason::QueueFull);
//! assert_eq!(pool.free_frames(), 2);
//!
//! // A second handle of a frame is an error.
//! let frame = pool.take().expect("two are free");
//! let forged = taut_path::Frame::new(frame.index());
//! let index = frame.index();
//! pool.release(frame)?;
//! assert_eq!(pool.release(forged), Err(PoolError::NotTaken { index }));
//! # Ok::<(), PoolError>(())
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::fmt;

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicBool, AtomicU32, Ordering};

use crate::packet::{DropReason, Frame, Packet, PacketSink};
use crate::sharing::Word;
use crate::slots::{Lent, all_free};

/// A fixed number of frames of one size, for any thread. A clone is the same pool.
///
/// Free frames are reused in FIFO order. The bytes are 0 initially, and later those of the previous
/// use.
#[derive(Clone)]
pub struct FramePool {
    shared: Arc<PoolShared>,
}

#[cfg(all(test, loom))]
mod models;

struct PoolShared {
    frames: Box<[FrameState]>,
    free: ConcurrentQueue<u32>,
    frame_bytes: u32,
    rejected_frames: AtomicU32,
}

struct FrameState {
    /// Taken, and not released.
    is_taken: AtomicBool,
    /// The bytes, unless they are lent: a slot that one thread at a time can empty, without unsafe
    /// code.
    bytes: ConcurrentQueue<Box<[u8]>>,
}

/// The error of a call of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The frame is not of this pool.
    #[error("frame {index} is not of this pool, which has {frames} frames, counted from 0")]
    NoSuchFrame {
        /// Its index.
        index: u32,
        /// Frames of this pool: valid indices are below it.
        frames: u32,
    },
    /// The frame is not taken: it was released before.
    #[error("frame {index} is not in use: it was released before, or never taken")]
    NotTaken {
        /// Its index.
        index: u32,
    },
    /// The bytes of the frame are lent, so there is a second handle of it.
    #[error("frame {index} is in use: another handle of it exists")]
    InUse {
        /// Its index.
        index: u32,
    },
    /// No frame is free.
    #[error("all {frames} frames of the pool are in use")]
    Empty {
        /// Frames of this pool.
        frames: u32,
    },
    /// The bytes are longer than a frame.
    #[error("{bytes} bytes are too long; a frame holds {frame_bytes}")]
    TooLong {
        /// The bytes.
        bytes: usize,
        /// Size of a frame, in bytes.
        frame_bytes: u32,
    },
}

impl FramePool {
    /// Creates a pool of `frames` free frames (0 counts as 1) of `frame_bytes` bytes each. All
    /// memory is allocated here, with about 400 bytes of overhead per frame.
    pub fn new(frames: u32, frame_bytes: u32) -> Self {
        let frames = frames.max(1);
        let frame = |_| FrameState::new(frame_bytes);
        let shared = PoolShared {
            frames: (0..frames).map(frame).collect(),
            free: all_free(frames),
            frame_bytes,
            rejected_frames: AtomicU32::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Takes a free frame; `None` if there is none.
    #[inline]
    pub fn take(&self) -> Option<Frame> {
        let index = self.shared.free.pop().ok()?;
        let state = &self.shared.frames[index as usize];
        state.is_taken.store(true, Ordering::Release);
        Some(Frame::new(index))
    }

    /// Takes a free frame, copies `bytes` to its start and returns it as a packet.
    ///
    /// # Errors
    /// If no frame is free, or `bytes` is longer than a frame.
    pub fn packet(&self, bytes: &[u8]) -> Result<Packet, PoolError> {
        let (length, frame_bytes) = (bytes.len(), self.shared.frame_bytes);
        if length > frame_bytes as usize {
            return Err(PoolError::TooLong {
                bytes: length,
                frame_bytes,
            });
        }
        let frames = self.frames();
        let frame = self.take().ok_or(PoolError::Empty { frames })?;
        match self.with(&frame, |space| space[..length].copy_from_slice(bytes)) {
            // Cannot truncate, because the size of a frame has 32 bits.
            Ok(()) => Ok(Packet::new(frame, length as u32)),
            // A forged handle has the bytes: do not lose the frame.
            Err(error) => self.release(frame).and(Err(error)),
        }
    }

    /// Releases a frame. A frame that was released, and taken again by another owner in the
    /// meantime, cannot be distinguished from that one.
    ///
    /// # Errors
    /// If the frame is not taken: it was released before, or is of another pool. This is counted
    /// ([`rejected_frames`](Self::rejected_frames)) and changes nothing else.
    #[inline]
    pub fn release(&self, frame: Frame) -> Result<(), PoolError> {
        let given = self.put_back(&frame);
        if given.is_err() {
            self.shared.rejected_frames.add(1);
        }
        given
    }

    #[inline]
    fn put_back(&self, frame: &Frame) -> Result<(), PoolError> {
        let state = self.state(frame)?;
        // Of two threads that release the same frame, only one finds it taken.
        if !state.is_taken.swap(false, Ordering::AcqRel) {
            let index = frame.index();
            return Err(PoolError::NotTaken { index });
        }
        // Cannot fail: each frame is in the list at most once.
        // The flag was cleared first, because the frame has a new owner as soon as it is listed.
        let _ = self.shared.free.push(frame.index());
        Ok(())
    }

    /// Lends the whole space of a frame to `work`. The packet stores how much of it is used.
    ///
    /// # Errors
    /// If the frame is not taken, or its bytes are lent already: there is a second handle of it, or
    /// `work` called this for the same frame.
    pub fn with<R>(
        &self,
        frame: &Frame,
        work: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, PoolError> {
        let state = self.state(frame)?;
        let index = frame.index();
        if !state.is_taken.load(Ordering::Acquire) {
            return Err(PoolError::NotTaken { index });
        }
        let bytes = &mut Lent::from(&state.bytes).value;
        let result = bytes.as_mut().map(|bytes| work(bytes));
        result.ok_or(PoolError::InUse { index })
    }

    /// Returns the number of free frames.
    pub fn free_frames(&self) -> u32 {
        self.shared.free.len() as u32
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> u32 {
        self.shared.frames.len() as u32
    }

    /// Returns the size of each frame, in bytes.
    pub fn frame_bytes(&self) -> u32 {
        self.shared.frame_bytes
    }

    /// Returns the number of frames that were released but not taken: twice, or of another pool.
    /// It wraps at 2^32.
    pub fn rejected_frames(&self) -> u32 {
        Word::load(&self.shared.rejected_frames)
    }

    fn state(&self, frame: &Frame) -> Result<&FrameState, PoolError> {
        let (index, frames) = (frame.index(), self.frames());
        self.shared
            .frames
            .get(index as usize)
            .ok_or(PoolError::NoSuchFrame { index, frames })
    }
}

impl FrameState {
    fn new(frame_bytes: u32) -> Self {
        let bytes = ConcurrentQueue::bounded(1);
        let _ = bytes.push(vec![0; frame_bytes as usize].into_boxed_slice());
        Self {
            is_taken: AtomicBool::new(false),
            bytes,
        }
    }
}

/// Releases each frame; the queue counts packets and reasons. A frame that is not taken is counted
/// as rejected.
///
/// The frame of an unknown completion is **not** released: its number belongs to a packet that
/// might still be in the device, or to a frame with a new owner. Losing a frame is better than
/// using it twice.
impl PacketSink for FramePool {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        let _ = self.release(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = self.release(packet.into_frame());
    }

    fn unknown_completion(&mut self, packet: Packet) {
        drop(packet);
    }
}

impl fmt::Debug for FramePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FramePool")
            .field("frames", &self.frames())
            .field("free_frames", &self.free_frames())
            .field("frame_bytes", &self.frame_bytes())
            .finish()
    }
}
