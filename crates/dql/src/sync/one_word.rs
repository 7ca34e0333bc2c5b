use super::{AtomicU64, Ordering};

/// A `u64` with one writer and any number of readers, on targets with 64-bit atomics.
#[derive(Debug, Default)]
pub struct SingleWriterU64(AtomicU64);

impl SingleWriterU64 {
    #[cfg(not(loom))]
    pub const fn new(value: u64) -> Self {
        SingleWriterU64(AtomicU64::new(value))
    }

    #[cfg(loom)]
    pub fn new(value: u64) -> Self {
        SingleWriterU64(AtomicU64::new(value))
    }

    /// Returns the value (Acquire): its reader also sees everything written before it. The variant
    /// with two slots needs these orderings, so both give the same guarantee.
    #[inline]
    pub fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Stores `value` (Release). Only the writer may call it.
    #[inline]
    pub fn store(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }
}
