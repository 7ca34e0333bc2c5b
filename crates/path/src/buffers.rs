//! The caller's buffers by frame, for two threads without a lock.
//!
//! The sending thread stores a buffer of any type and gets the [`Frame`] of its packet. A driver
//! reads the buffer with [`with`](Buffers::with). The half that ends the packet returns the buffer
//! through [`sink`](Buffers::sink): the sender if the packet was dropped, the completer after the
//! device completed it. [`pool`](crate::pool) has frames with bytes of their own instead.
//!
//! # Two threads
//! With feature `std`, `Sender::run_blocking` parks the sending thread until there is room. Here
//! the store has more frames than the ring has slots. Therefore packets wait in the discipline
//! whenever the store is full.
//! ```
//! use std::{thread, time::{Duration, Instant}};
//! use taut_path::{Packet, Queue, Stop, buffers::Buffers, driver::testing::mock};
//!
//! let (ring, completions, device) = mock::ring(64);
//! device.complete_immediately(true);
//! let (mut tx, mut rx, _) = Queue::builder(ring, completions).build_halves(0)?;
//! let (start, buffers) = (Instant::now(), &Buffers::new(256));
//! let now_ns = || start.elapsed().as_nanos() as u64;
//! let (mut accepted, mut dropped) = (0, 0);
//! let completed = thread::scope(|scope| {
//!     let completer = scope.spawn(move || {
//!         let mut completed = 0;
//!         while !rx.is_closed() || rx.snapshot().in_flight > 0 {
//!             thread::sleep(Duration::from_micros(50)); // in place of an interrupt
//!             let mut sink = buffers.sink(|_buffer: Vec<u8>, _reason| completed += 1);
//!             let _ = rx.complete(now_ns(), &mut sink).expect("the mock does not fail");
//!         }
//!         completed
//!     });
//!     let mut sink = buffers.sink(|_buffer, _reason| dropped += 1);
//!     for _ in 0..100 {
//!         while let Ok(frame) = buffers.put(vec![0; 1514]) {
//!             tx.enqueue(Packet::new(frame, 1514), now_ns(), &mut sink);
//!             accepted += 1;
//!         }
//!         assert_eq!(tx.run_blocking(now_ns, &mut sink), Stop::Idle);
//!     }
//!     drop(tx); // the completer ends after the last completion
//!     completer.join().expect("the completer does not panic")
//! });
//! assert_eq!(completed + dropped, accepted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use core::fmt;

use concurrent_queue::{ConcurrentQueue, PushError};

use crate::packet::{DropReason, Frame, Packet, PacketSink};
use crate::pool::PoolError;
use crate::slots::{Lent, all_free};

#[cfg(all(test, loom))]
mod models;

/// A fixed number of frames, each with room for one buffer, for any thread.
///
/// A packet costs six locked instructions for both threads together, and no allocation. Free frames
/// are reused in FIFO order. Dropping the store drops the buffers in it, such as those of packets
/// that a dropped queue still had.
pub struct Buffers<T> {
    /// A buffer, unless its frame is free or its buffer is lent. One thread at a time can empty a
    /// slot, without unsafe code.
    slots: Box<[ConcurrentQueue<T>]>,
    free: ConcurrentQueue<u32>,
}

impl<T> Buffers<T> {
    /// Creates `frames` free frames (0 counts as 1). All memory is allocated here: about 400 bytes
    /// per frame, more if `T` is larger.
    pub fn new(frames: u32) -> Self {
        let frames = frames.max(1);
        Self {
            slots: (0..frames).map(|_| ConcurrentQueue::bounded(1)).collect(),
            free: all_free(frames),
        }
    }

    /// Stores `buffer` in a free frame.
    ///
    /// # Errors
    /// Returns the buffer if no frame is free.
    #[inline]
    pub fn put(&self, buffer: T) -> Result<Frame, T> {
        let Ok(index) = self.free.pop() else {
            return Err(buffer);
        };
        // Cannot fail: the slot of a free frame is empty.
        let stored = self.slots[index as usize].push(buffer);
        stored
            .map(|()| Frame::new(index))
            .map_err(PushError::into_inner)
    }

    /// Takes the buffer of `frame`, which is free afterwards. A frame that was taken, and used
    /// again by another packet in the meantime, cannot be distinguished from that one.
    ///
    /// # Errors
    /// [`PoolError::NoSuchFrame`], or [`PoolError::NotTaken`] if the frame has no buffer: it was
    /// taken before, or [`with`](Self::with) lends it at the moment. Nothing changes.
    #[inline]
    pub fn take(&self, frame: Frame) -> Result<T, PoolError> {
        let (slot, index) = (self.slot(&frame)?, frame.index());
        // Of two threads that take the same frame, only one gets the buffer.
        let buffer = slot.pop().map_err(|_| PoolError::NotTaken { index })?;
        // Cannot fail: each frame is in the list at most once.
        let _ = self.free.push(index);
        Ok(buffer)
    }

    /// Lends the buffer of `frame` to `work`.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut T) -> R) -> Result<R, PoolError> {
        let (slot, index) = (self.slot(frame)?, frame.index());
        let result = Lent::from(slot).value.as_mut().map(work);
        result.ok_or(PoolError::NotTaken { index })
    }

    /// Returns a sink that passes the buffer of each ended packet to `ended`: with the reason if
    /// the packet was dropped, with `None` if the device completed it. A sink is free to create,
    /// so each half can create one for each call.
    ///
    /// The frame is free before `ended` is called, so a panic there loses neither frame nor count.
    /// A frame without a buffer is ignored, because its buffer was taken before. An unknown
    /// completion keeps its frame: its number might belong to a packet in the device.
    pub fn sink(&self, ended: impl FnMut(T, Option<DropReason>)) -> impl PacketSink {
        BufferSink {
            buffers: self,
            ended,
        }
    }

    fn slot(&self, frame: &Frame) -> Result<&ConcurrentQueue<T>, PoolError> {
        let (index, frames) = (frame.index(), self.slots.len() as u32);
        self.slots
            .get(index as usize)
            .ok_or(PoolError::NoSuchFrame { index, frames })
    }
}

struct BufferSink<'a, T, F> {
    buffers: &'a Buffers<T>,
    ended: F,
}

impl<T, F: FnMut(T, Option<DropReason>)> BufferSink<'_, T, F> {
    fn end(&mut self, packet: Packet, reason: Option<DropReason>) {
        if let Ok(buffer) = self.buffers.take(packet.into_frame()) {
            (self.ended)(buffer, reason);
        }
    }
}

impl<T, F: FnMut(T, Option<DropReason>)> PacketSink for BufferSink<'_, T, F> {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.end(packet, None);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.end(packet, Some(reason));
    }
}

impl<T> fmt::Debug for Buffers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers")
            .field("frames", &self.slots.len())
            .field("free_frames", &self.free.len())
            .finish()
    }
}
