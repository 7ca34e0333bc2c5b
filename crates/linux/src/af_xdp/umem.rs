//! The frames that AF_XDP sockets send from and receive into.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use concurrent_queue::ConcurrentQueue;
use taut_path::pool::PoolError;
use taut_path::{DropReason, Frame, Packet, PacketSink};

use super::config::METADATA_BYTES;
use crate::error::invalid;
use crate::frames::Frames;
use crate::sys::umem::{Freed, Umem};

/// Maximum number of frames: 4 GiB with 4 KB each.
const FRAMES_LIMIT: u32 = 1 << 20;

/// Flag in a frame's start: the kernel must read the metadata before the packet.
const HAS_METADATA: u32 = 1 << 31;

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
    free: ConcurrentQueue<u32>,
    /// Offset of the packet in each frame, in bytes, and [`HAS_METADATA`].
    starts: Box<[AtomicU32]>,
    /// Offset of a packet that was not received.
    own_start: u32,
    unknown_completions: AtomicU64,
    rejected_frames: AtomicU64,
}

impl UmemFrames {
    /// Allocates frames of 2,048 or 4,096 bytes. A packet that was not received starts `own_start`
    /// bytes into its frame.
    pub(super) fn new(frames: u32, frame_bytes: u32, own_start: u32) -> io::Result<Self> {
        if !(1..=FRAMES_LIMIT).contains(&frames) {
            return Err(invalid(format!("{frames} frames: 1 to {FRAMES_LIMIT}")));
        }
        if ![2048, 4096].contains(&frame_bytes) {
            return Err(invalid(format!(
                "frames of {frame_bytes} bytes: 2048 or 4096"
            )));
        }
        let umem = Umem::new(frames, frame_bytes)?;
        let free = ConcurrentQueue::bounded(frames as usize);
        for index in 0..frames {
            // Cannot fail: there is room for all frames.
            let _ = free.push(index);
        }
        Ok(Self(Arc::new(UmemState {
            umem,
            free,
            starts: (0..frames).map(|_| AtomicU32::new(own_start)).collect(),
            own_start,
            unknown_completions: AtomicU64::new(0),
            rejected_frames: AtomicU64::new(0),
        })))
    }

    pub(super) fn umem(&self) -> &Umem {
        &self.0.umem
    }

    /// Returns where the packet in the frame starts in the umem, in bytes, and the options of its
    /// descriptor.
    #[inline]
    pub(super) fn place(&self, index: u32) -> (u64, u32) {
        let start = self.start(index);
        let options = if start & HAS_METADATA == 0 {
            0
        } else {
            libc::XDP_TX_METADATA
        };
        let address = self.whole_frame(index) + u64::from(start & !HAS_METADATA);
        (address, options)
    }

    /// Returns `true` if the checksum request of `frame` lies within its `length_bytes`.
    pub(super) fn metadata_fits(&self, frame: &Frame, length_bytes: u32) -> bool {
        let start = (self.start(frame.index()) & !HAS_METADATA) as usize;
        self.with_all(frame, |bytes| {
            let at = start - METADATA_BYTES as usize;
            let word = |at: usize| u32::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
            word(at + 8) + word(at + 10) + 2 <= length_bytes
        })
        .unwrap_or(false)
    }

    #[inline]
    fn start(&self, index: u32) -> u32 {
        let start = self.0.starts.get(index as usize);
        start.map_or(0, |start| start.load(Ordering::Relaxed))
    }

    /// Requests that the kernel completes the partial checksum of the packet in `frame`, as
    /// described by a virtio-net header: the sum from `start_bytes` on is written `offset_bytes`
    /// after that. In copy mode the kernel computes it, otherwise the device.
    ///
    /// # Errors
    /// [`ChecksumRefused::NoMetadata`] if the driver was not opened with
    /// [`metadata`](super::XdpConfig::metadata); [`ChecksumRefused::Frame`] if the frame is not
    /// taken. A checksum outside of the packet is detected when it is sent, and the packet is
    /// rejected.
    pub fn complete_checksum(
        &self,
        frame: &Frame,
        start_bytes: u16,
        offset_bytes: u16,
    ) -> Result<(), ChecksumRefused> {
        let start = self.start(frame.index()) & !HAS_METADATA;
        // A received packet has room before it, but the kernel does not read metadata there.
        let is_opened_with = self.0.own_start > 0;
        let metadata_at = (start as usize)
            .checked_sub(METADATA_BYTES as usize)
            .filter(|_| is_opened_with)
            .ok_or(ChecksumRefused::NoMetadata)?;
        // `struct xsk_tx_metadata`: flags, then the start of the sum and its destination.
        self.with_all(frame, |bytes| {
            let metadata = &mut bytes[metadata_at..start as usize];
            metadata.fill(0);
            metadata[..8].copy_from_slice(&u64::from(libc::XDP_TXMD_FLAGS_CHECKSUM).to_ne_bytes());
            metadata[8..10].copy_from_slice(&start_bytes.to_ne_bytes());
            metadata[10..12].copy_from_slice(&offset_bytes.to_ne_bytes());
        })
        .map_err(ChecksumRefused::Frame)?;
        self.0.starts[frame.index() as usize].store(start | HAS_METADATA, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the frame that holds an address of the umem; an index out of range for an address
    /// beyond it.
    #[inline]
    pub(super) fn index_of(&self, address: u64) -> u32 {
        let index = address / u64::from(self.frame_bytes_all());
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    fn frame_bytes_all(&self) -> u32 {
        self.0.umem.frame_bytes()
    }

    /// Returns where the frame itself starts in the umem, in bytes.
    pub(super) fn whole_frame(&self, index: u32) -> u64 {
        u64::from(index) * u64::from(self.frame_bytes_all())
    }

    /// Stores the `address` at which a received packet starts in its frame.
    pub(super) fn starts_at(&self, index: u32, address: u64) {
        let offset = address - u64::from(index) * u64::from(self.frame_bytes_all());
        if let Some(start) = self.0.starts.get(index as usize) {
            start.store(offset as u32, Ordering::Relaxed);
        }
    }

    /// Runs `work` on the whole frame, including the room before the packet.
    pub(super) fn with_all<R>(
        &self,
        frame: &Frame,
        work: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, PoolError> {
        let index = frame.index();
        let lent = self.0.umem.with(index, work);
        lent.ok_or_else(|| self.pool_error(index))
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

    #[inline]
    fn push_free(&self, index: u32) {
        // Cannot fail: each frame is in the queue at most once.
        let _ = self.0.free.push(index);
    }

    /// Recovers a frame that the kernel released after its packet was abandoned; `false` if it
    /// was not abandoned.
    pub(super) fn recover(&self, index: u32) -> bool {
        let found = self.0.umem.recover(index);
        if found == Some(Freed::Now) {
            self.push_free(index);
        }
        found.is_some()
    }

    /// Returns the number of packets that a driver returned and no queue ever sent (driver bug).
    /// Their frames are not released.
    pub fn unknown_completions(&self) -> u64 {
        self.0.unknown_completions.load(Ordering::Relaxed)
    }

    /// Returns the number of frames that were released but not taken: twice, or of another pool.
    pub fn rejected_frames(&self) -> u64 {
        self.0.rejected_frames.load(Ordering::Relaxed)
    }

    fn release_packet(&self, packet: Packet) {
        let _ = Frames::release(self, packet.into_frame());
    }
}

/// Why the kernel cannot complete a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumRefused {
    /// No room before the packet: the driver was opened without metadata, or the packet was
    /// received.
    NoMetadata,
    /// The frame is not taken, or it is in use.
    Frame(PoolError),
}

impl std::fmt::Display for ChecksumRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoMetadata => f.write_str(
                "no room for metadata before the packet: open the driver with `metadata: true`",
            ),
            Self::Frame(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChecksumRefused {}

impl Frames for UmemFrames {
    #[inline]
    fn take(&self) -> Option<Frame> {
        let index = self.0.free.pop().ok()?;
        self.0.umem.take(index);
        self.0.starts[index as usize].store(self.0.own_start, Ordering::Relaxed);
        Some(Frame::new(index))
    }

    #[inline]
    fn release(&self, frame: Frame) -> Result<(), PoolError> {
        let index = frame.index();
        match self.0.umem.free(index) {
            Freed::Now => self.push_free(index),
            Freed::Later => {}
            Freed::NotTaken => {
                self.0.rejected_frames.fetch_add(1, Ordering::Relaxed);
                return Err(self.pool_error(index));
            }
        }
        Ok(())
    }

    /// Lends the space from the start of the packet; a received packet can start at any offset.
    #[inline]
    fn with<R>(&self, frame: &Frame, work: impl FnOnce(&mut [u8]) -> R) -> Result<R, PoolError> {
        let start = self.start(frame.index()) & !HAS_METADATA;
        self.with_all(frame, |bytes| {
            let start = (start as usize).min(bytes.len());
            work(&mut bytes[start..])
        })
    }

    fn free_frames(&self) -> u32 {
        self.0.free.len() as u32
    }

    fn frames(&self) -> u32 {
        self.0.umem.frames()
    }

    /// The space for a packet that was not received.
    fn frame_bytes(&self) -> u32 {
        self.0.umem.frame_bytes() - self.0.own_start
    }
}

impl PacketSink for UmemFrames {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.release_packet(packet);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.release_packet(packet);
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.0.unknown_completions.fetch_add(1, Ordering::Relaxed);
        drop(packet);
    }
}
