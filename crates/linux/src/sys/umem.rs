//! Memory that an AF_XDP socket reads and writes, in frames of one size.
//!
//! Each frame has a state with its owner. So even if a caller has two handles of one frame by
//! mistake, no two threads access its bytes, and neither does a thread while the kernel owns it.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use concurrent_queue::ConcurrentQueue;
use memmap2::{MmapOptions, MmapRaw};

/// Not in use.
const FREE: u32 = 0;
/// A handle exists.
const TAKEN: u32 = 1;
/// A handle exists, and its bytes are borrowed.
const LENT: u32 = 2;
/// Owned by the kernel.
const DEVICE: u32 = 3;
/// Still owned by the kernel although its packet was abandoned, with a handle or without.
const ABANDONED: u32 = 4;
const ABANDONED_AND_FREE: u32 = 5;

#[derive(Debug)]
pub(crate) struct Umem {
    mapping: MmapRaw,
    frame_bytes: usize,
    states: Box<[AtomicU32]>,
    free: ConcurrentQueue<u32>,
}

impl Umem {
    /// Allocates zeroed memory for `frames` free frames of `frame_bytes` each.
    pub(crate) fn new(frames: u32, frame_bytes: u32) -> io::Result<Self> {
        let free = ConcurrentQueue::bounded(frames as usize);
        for index in 0..frames {
            // Cannot fail: there is room for all frames.
            let _ = free.push(index);
        }
        let (frames, frame_bytes) = (frames as usize, frame_bytes as usize);
        let length = frames.checked_mul(frame_bytes);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        let mapping = MmapOptions::new().len(length).populate().map_anon()?;
        Ok(Self {
            mapping: mapping.into(),
            frame_bytes,
            states: (0..frames).map(|_| AtomicU32::new(FREE)).collect(),
            free,
        })
    }

    /// Returns its start, for the kernel.
    pub(crate) fn address(&self) -> u64 {
        self.mapping.as_ptr() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.frame_bytes * self.states.len()) as u64
    }

    pub(crate) fn frames(&self) -> u32 {
        self.states.len() as u32
    }

    pub(crate) fn frame_bytes(&self) -> u32 {
        self.frame_bytes as u32
    }

    fn moves(&self, index: u32, from: u32, to: u32) -> bool {
        self.states.get(index as usize).is_some_and(|state| {
            state
                .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        })
    }

    /// Takes the frame that has been free for the longest time; `None` if there is none.
    #[inline]
    pub(crate) fn take(&self) -> Option<u32> {
        let index = self.free.pop().ok()?;
        self.moves(index, FREE, TAKEN);
        Some(index)
    }

    /// Releases a taken frame; `false` if it is not taken. A frame that the kernel still owns is
    /// free when the kernel releases it.
    #[inline]
    pub(crate) fn release(&self, index: u32) -> bool {
        self.moves_to_free(index, TAKEN) || self.moves(index, ABANDONED, ABANDONED_AND_FREE)
    }

    #[inline]
    fn moves_to_free(&self, index: u32, from: u32) -> bool {
        let is_free = self.moves(index, from, FREE);
        if is_free {
            // Cannot fail: each frame is in the queue at most once.
            let _ = self.free.push(index);
        }
        is_free
    }

    pub(crate) fn free_frames(&self) -> u32 {
        self.free.len() as u32
    }

    /// Abandons the packet in a frame that the kernel owns; the kernel still owns the frame.
    pub(crate) fn abandon(&self, index: u32) -> bool {
        self.moves(index, DEVICE, ABANDONED)
    }

    /// Recovers an abandoned frame that the kernel has released: it is taken if a handle exists,
    /// else free. `false` if it was not abandoned.
    pub(crate) fn recover(&self, index: u32) -> bool {
        self.moves(index, ABANDONED, TAKEN) || self.moves_to_free(index, ABANDONED_AND_FREE)
    }

    /// Returns the number of abandoned frames.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn abandoned(&self) -> u32 {
        let of = |state: &&AtomicU32| state.load(Ordering::Relaxed) >= ABANDONED;
        self.states.iter().filter(of).count() as u32
    }

    /// Passes a taken frame to the kernel; `false` if it is not taken.
    #[inline]
    pub(crate) fn to_device(&self, index: u32) -> bool {
        self.moves(index, TAKEN, DEVICE)
    }

    /// Takes a frame back from the kernel; `false` if the kernel did not own it.
    #[inline]
    pub(crate) fn reclaim(&self, index: u32) -> bool {
        self.moves(index, DEVICE, TAKEN)
    }

    /// Returns `true` if the frame is taken, or its bytes are borrowed.
    pub(crate) fn is_out(&self, index: u32) -> bool {
        self.states
            .get(index as usize)
            .is_some_and(|state| matches!(state.load(Ordering::Acquire), TAKEN | LENT))
    }

    /// Lends the bytes of a taken frame to `work`; `None` if it is not taken, or borrowed already.
    #[inline]
    pub(crate) fn with<R>(&self, index: u32, work: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        if !self.moves(index, TAKEN, LENT) {
            return None;
        }
        let _lent = Lent(&self.states[index as usize]);
        // SAFETY: the frame is inside the mapping, because its state exists. It was taken, so the
        // kernel does not own it. It is lent now, so no other code here accesses it until `_lent`
        // is dropped, which is after `bytes`. The memory was zeroed by the kernel.
        let bytes = unsafe {
            let at = index as usize * self.frame_bytes;
            let start = self.mapping.as_mut_ptr().add(at);
            std::slice::from_raw_parts_mut(start, self.frame_bytes)
        };
        Some(work(bytes))
    }
}

/// Ends the loan, also if the work panics.
struct Lent<'a>(&'a AtomicU32);

impl Drop for Lent<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(TAKEN, Ordering::Release);
    }
}
