use super::{AtomicU32, Ordering};

/// A `u64` with one writer and any number of readers, for targets without 64-bit atomics.
///
/// Two slots take turns. The writer fills the one that is not whole, then publishes its number, so
/// a reader always has a whole slot to read: it never waits, also not when it runs in an interrupt
/// that came in the middle of a store. Only a reader during whose look a store was finished looks
/// again, so that it looks at most once more than there were stores meanwhile.
#[derive(Debug)]
pub struct TwoSlots {
    /// Stores so far, wrapping; the lowest bit is the slot that is whole. A count and not only the
    /// bit, since two stores between two looks would leave the bit as it was. (2^32 stores within
    /// one load would go unseen.)
    stores: AtomicU32,
    slots: [Slot; 2],
}

#[derive(Debug)]
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

    /// Whoever sees a value sees all that its writer wrote before it.
    #[inline]
    pub fn load(&self) -> u64 {
        let mut stores = self.stores.load(Ordering::Acquire);
        loop {
            let value = self.slot(stores).load();
            // A half of a later store in this slot was read with Acquire, so that this look sees
            // the count published before it.
            let again = self.stores.load(Ordering::Acquire);
            if again == stores {
                return value;
            }
            stores = again;
        }
    }

    /// For the one writer.
    #[inline]
    pub fn store(&self, value: u64) {
        let stores = self.stores.load(Ordering::Relaxed).wrapping_add(1);
        self.slot(stores).store(value);
        self.stores.store(stores, Ordering::Release);
    }

    #[inline]
    fn slot(&self, stores: u32) -> &Slot {
        &self.slots[(stores & 1) as usize]
    }

    /// What a load without the second look would return: its model has to fail.
    #[cfg(loom)]
    pub fn load_with_one_look(&self) -> u64 {
        self.slot(self.stores.load(Ordering::Acquire)).load()
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
        // Release: whoever reads a half of this store sees the count of the store before.
        self.low.store(value as u32, Ordering::Release);
        self.high.store((value >> 32) as u32, Ordering::Release);
    }
}
