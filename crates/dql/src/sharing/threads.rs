//! Atomics, for halves on two threads.

use super::{CacheAligned, Sharing, Word};
use crate::sync::{AtomicU32, Ordering, SingleWriterU64, fence};

/// Each half can be on a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads;

impl Sharing for Threads {
    type Word = AtomicU32;
    type Wide = SingleWriterU64;
    type Line<T> = CacheAligned<T>;
    const SHARED: bool = true;

    #[inline]
    fn full_fence() {
        fence(Ordering::SeqCst);
    }
}

impl Word for AtomicU32 {
    fn new(value: u32) -> Self {
        AtomicU32::new(value)
    }

    #[inline]
    fn load(&self) -> u32 {
        AtomicU32::load(self, Ordering::Relaxed)
    }

    #[inline]
    fn load_acquire(&self) -> u32 {
        AtomicU32::load(self, Ordering::Acquire)
    }

    #[inline]
    fn store(&self, value: u32) {
        AtomicU32::store(self, value, Ordering::Relaxed);
    }

    #[inline]
    fn store_release(&self, value: u32) {
        AtomicU32::store(self, value, Ordering::Release);
    }

    #[inline]
    fn add(&self, value: u32) {
        self.fetch_add(value, Ordering::AcqRel);
    }

    #[inline]
    fn set_bits(&self, bits: u32) {
        self.fetch_or(bits, Ordering::AcqRel);
    }

    #[inline]
    fn take(&self) -> u32 {
        AtomicU32::swap(self, 0, Ordering::AcqRel)
    }

    #[inline]
    fn clear_one(&self) -> bool {
        AtomicU32::compare_exchange(self, 1, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// `TwoSlots` needs these orderings, so that both give the same guarantee.
#[cfg(any(loom, target_has_atomic = "64"))]
impl super::Wide for SingleWriterU64 {
    fn new(value: u64) -> Self {
        SingleWriterU64::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        SingleWriterU64::load(self, Ordering::Acquire)
    }

    #[inline]
    fn store(&self, value: u64) {
        SingleWriterU64::store(self, value, Ordering::Release);
    }
}
