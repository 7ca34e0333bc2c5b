//! Frames with their bytes, for programs that keep packets in memory of their own.
//!
//! The pool is also a [`PacketSink`], so the usual program needs no sink of its own:
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
//! assert_eq!((pool.free_frames(), pool.counters().drops.of(DropReason::QueueFull)), (2, 1));
//!
//! // Whoever makes a second handle of a frame is told.
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
use crate::queue::Drops;
use crate::sharing::Word;

/// A fixed number of frames of one size, for any thread. A clone is the same pool.
///
/// A frame waits behind those that were free before it. Bytes are zero at first, then what was last
/// in the frame.
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
    counts: Counts,
}

struct FrameState {
    /// Taken, and not given back.
    is_taken: AtomicBool,
    /// The bytes, unless somebody works on them: a place that one thread at a time can empty,
    /// without unsafe code of our own.
    bytes: ConcurrentQueue<Box<[u8]>>,
}

/// Any thread adds to each.
struct Counts {
    freed: AtomicU32,
    drops: [AtomicU32; DropReason::ALL.len()],
    unknown: AtomicU32,
    rejected: AtomicU32,
}

/// What a pool counted, each wrapping at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolCounters {
    /// Packets that the device was done with.
    pub freed_packets: u32,
    /// Packets dropped before the device saw them, by reason.
    pub drops: Drops,
    /// Packets that no queue ever sent, handed back by a driver. Their frames were not given back.
    pub unknown_completions: u32,
    /// Frames that were given back and are not out: twice, or of another pool.
    pub rejected_frames: u32,
}

/// Why a pool did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolError {
    /// The frame is not of this pool.
    NoSuchFrame {
        /// Its index.
        index: u32,
        /// Frames of this pool: allowed is 0 to one less.
        frames: u32,
    },
    /// The frame is not taken: it was given back before.
    NotTaken {
        /// Its index.
        index: u32,
    },
    /// Somebody else works on the bytes of the frame, so there are two handles of it.
    InUse {
        /// Its index.
        index: u32,
    },
    /// No frame is free.
    Empty {
        /// Frames of this pool.
        frames: u32,
    },
    /// More bytes than a frame holds.
    TooLong {
        /// The bytes.
        bytes: usize,
        /// What a frame holds.
        frame_bytes: u32,
    },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchFrame { index, frames } => write!(
                f,
                "frame {index} is not of this pool, which has {frames} frames, counted from 0"
            ),
            Self::NotTaken { index } => write!(
                f,
                "frame {index} is not taken: it was given back before, or never taken"
            ),
            Self::InUse { index } => write!(
                f,
                "somebody else works on the bytes of frame {index}: a frame has one handle"
            ),
            Self::Empty { frames } => write!(f, "all {frames} frames of the pool are taken"),
            Self::TooLong { bytes, frame_bytes } => {
                write!(f, "{bytes} bytes are too long; a frame holds {frame_bytes}")
            }
        }
    }
}

impl core::error::Error for PoolError {}

impl FramePool {
    /// A pool of `frames` frames (0 counts as 1) of `frame_bytes` bytes each, all free. All memory
    /// is allocated here, with about 400 bytes of bookkeeping for each frame.
    pub fn new(frames: u32, frame_bytes: u32) -> Self {
        Self {
            shared: Arc::new(PoolShared::new(frames, frame_bytes)),
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

    /// Takes a free frame, copies `bytes` to its start and makes a packet of it.
    ///
    /// # Errors
    /// If no frame is free, or `bytes` are more than a frame holds.
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
            // It fits into a frame, whose size is of 32 bits.
            Ok(()) => Ok(Packet::new(frame, length as u32)),
            // A forged handle has the bytes: let it be, and do not lose the frame.
            Err(error) => self.release(frame).and(Err(error)),
        }
    }

    /// Takes a frame back. A frame that was given back, and taken again since by somebody else,
    /// cannot be told from that one.
    ///
    /// # Errors
    /// If the frame is not out: it was given back before, or is of another pool. Counted too
    /// ([`rejected_frames`](PoolCounters::rejected_frames)); nothing else changes.
    #[inline]
    pub fn release(&self, frame: Frame) -> Result<(), PoolError> {
        let given = self.put_back(&frame);
        if given.is_err() {
            self.shared.counts.rejected.add(1);
        }
        given
    }

    #[inline]
    fn put_back(&self, frame: &Frame) -> Result<(), PoolError> {
        let state = self.state(frame)?;
        // Of two threads that give it back at the same time, one finds it taken.
        if !state.is_taken.swap(false, Ordering::AcqRel) {
            let index = frame.index();
            return Err(PoolError::NotTaken { index });
        }
        // There is room: each frame is in it at most once.
        let _ = self.shared.free.push(frame.index());
        Ok(())
    }

    /// Lends the whole space of a frame to `work`. How much of it is in use, the packet says.
    ///
    /// # Errors
    /// If the frame is not out, or somebody works on it already: there is a second handle of it,
    /// or `work` asked for the same frame again.
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
        let bytes = state.bytes.pop().map_err(|_| PoolError::InUse { index })?;
        let mut lent = Lent { state, bytes };
        Ok(work(&mut lent.bytes))
    }

    /// Frames that can be taken now.
    pub fn free_frames(&self) -> u32 {
        self.shared.free.len() as u32
    }

    /// Frames in all.
    pub fn frames(&self) -> u32 {
        self.shared.frames.len() as u32
    }

    /// Space of each frame, in bytes.
    pub fn frame_bytes(&self) -> u32 {
        self.shared.frame_bytes
    }

    /// What came back so far, and how.
    pub fn counters(&self) -> PoolCounters {
        let counts = &self.shared.counts;
        let drops = core::array::from_fn(|reason| u64::from(Word::load(&counts.drops[reason])));
        PoolCounters {
            freed_packets: Word::load(&counts.freed),
            drops: Drops::by_reason(drops),
            unknown_completions: Word::load(&counts.unknown),
            rejected_frames: Word::load(&counts.rejected),
        }
    }

    fn state(&self, frame: &Frame) -> Result<&FrameState, PoolError> {
        let (index, frames) = (frame.index(), self.frames());
        self.shared
            .frames
            .get(index as usize)
            .ok_or(PoolError::NoSuchFrame { index, frames })
    }
}

impl PoolShared {
    fn new(frames: u32, frame_bytes: u32) -> Self {
        let frames = frames.max(1);
        let free = ConcurrentQueue::bounded(frames as usize);
        for index in 0..frames {
            // There is room for all.
            let _ = free.push(index);
        }
        let frame = |_| FrameState::new(frame_bytes);
        Self {
            frames: (0..frames).map(frame).collect(),
            free,
            frame_bytes,
            counts: Counts {
                freed: Word::new(0),
                drops: core::array::from_fn(|_| Word::new(0)),
                unknown: Word::new(0),
                rejected: Word::new(0),
            },
        }
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

/// The bytes of a frame while somebody works on them; they come back also when that panics.
struct Lent<'a> {
    state: &'a FrameState,
    bytes: Box<[u8]>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // The place is empty: its bytes are here.
        let _ = self.state.bytes.push(core::mem::take(&mut self.bytes));
    }
}

/// Gives each frame back and counts why. A frame that is refused is counted as such.
///
/// The frame of a stray packet is **not** given back: its number is that of a packet that may
/// still be in the device, or of a frame that somebody else took since. Rather one frame lost than
/// one used twice.
impl PacketSink for FramePool {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.shared.counts.freed.add(1);
        let _ = self.release(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let counts = DropReason::ALL.into_iter().zip(&self.shared.counts.drops);
        for (known, count) in counts {
            count.add(u32::from(known == reason));
        }
        let _ = self.release(packet.into_frame());
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.shared.counts.unknown.add(1);
        drop(packet);
    }
}

impl fmt::Debug for FramePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FramePool")
            .field("frames", &self.frames())
            .field("free_frames", &self.free_frames())
            .field("frame_bytes", &self.frame_bytes())
            .field("counters", &self.counters())
            .finish()
    }
}
