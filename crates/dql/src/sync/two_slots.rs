use super::{AtomicU32, Ordering};
use crate::sharing::Wide;

/// A `u64` with one writer and any number of readers, for targets without 64-bit atomics.
///
/// The writer alternates between two slots: it fills the inactive one, then publishes its number.
/// So a reader always has a complete slot and never waits, even if it is an interrupt handler that
/// interrupted a store. A load is repeated only if a store completed in the meantime, so it reads
/// at most once more than there were stores.
#[derive(Debug, Default)]
pub struct TwoSlots {
    /// Stores so far, wrapping; the lowest bit selects the complete slot. A counter and not only
    /// that bit, because two stores between two reads would leave the bit unchanged. (2^32 stores
    /// within one load would not be detected.)
    stores: AtomicU32,
    slots: [Slot; 2],
}

#[derive(Debug, Default)]
struct Slot {
    low: AtomicU32,
    high: AtomicU32,
}

macro_rules! new {
    ($value:expr) => {
        TwoSlots {
            stores: AtomicU32::new(0),
            slots: [
                Slot {
                    low: AtomicU32::new($value as u32),
                    high: AtomicU32::new(($value >> 32) as u32),
                },
                Slot {
                    low: AtomicU32::new(0),
                    high: AtomicU32::new(0),
                },
            ],
        }
    };
}

impl TwoSlots {
    #[cfg(not(loom))]
    pub const fn new(value: u64) -> Self {
        new!(value)
    }

    #[cfg(loom)]
    pub fn new(value: u64) -> Self {
        new!(value)
    }

    #[inline]
    fn slot(&self, stores: u32) -> &Slot {
        &self.slots[(stores & 1) as usize]
    }

    /// A load without the second read of the count: its model must fail.
    #[cfg(loom)]
    pub fn load_without_recheck(&self) -> u64 {
        self.slot(self.stores.load(Ordering::Acquire)).load()
    }
}

impl Wide for TwoSlots {
    fn new(value: u64) -> Self {
        TwoSlots::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        let mut stores = self.stores.load(Ordering::Acquire);
        loop {
            let value = self.slot(stores).load();
            // If half of a later store in this slot was read, it was read with Acquire, so this
            // load sees the count published before that store.
            let again = self.stores.load(Ordering::Acquire);
            if again == stores {
                return value;
            }
            stores = again;
        }
    }

    #[inline]
    fn store(&self, value: u64) {
        let stores = self.stores.load(Ordering::Relaxed).wrapping_add(1);
        self.slot(stores).store(value);
        self.stores.store(stores, Ordering::Release);
    }
}

impl Slot {
    #[inline]
    fn load(&self) -> u64 {
        let low = self.low.load(Ordering::Acquire);
        u64::from(self.high.load(Ordering::Acquire)) << 32 | u64::from(low)
    }

    #[inline]
    fn store(&self, value: u64) {
        // Release: a reader of half of this store sees the count of the previous store.
        self.low.store(value as u32, Ordering::Release);
        self.high.store((value >> 32) as u32, Ordering::Release);
    }
}
