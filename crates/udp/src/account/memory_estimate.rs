//! The memory that the kernel counts for an object, measured by the level of the socket
//! (`SIOCOUTQ`).

/// Width of a size class: the kernel allocates in steps.
const CLASS_BYTES: u32 = 64;
const CLASSES: usize = (u16::MAX as u32 / CLASS_BYTES) as usize + 1;
/// The kernel's headers of a buffer (`sk_buff`, `skb_shared_info`), for a class without a
/// measurement.
const OVERHEAD_BYTES: u32 = 768;

/// Largest rise of the level for an object of each size class.
#[derive(Debug)]
pub(super) struct MemoryEstimate {
    /// By size class; 0 without a measurement.
    learnt: Box<[u32]>,
}

impl MemoryEstimate {
    pub(super) fn new() -> Self {
        Self {
            learnt: vec![0; CLASSES].into(),
        }
    }

    fn class(bytes: u32) -> usize {
        ((bytes / CLASS_BYTES) as usize).min(CLASSES - 1)
    }

    /// Returns the expected memory of an object of `bytes`.
    pub(super) fn of(&self, bytes: u32) -> u32 {
        match self.learnt[Self::class(bytes)] {
            0 => bytes + OVERHEAD_BYTES,
            learnt => learnt,
        }
    }

    /// Records that the level rose by `rise_bytes` when an object was sent. It rises by less when
    /// others complete in the meantime, so the maximum is used.
    pub(super) fn learn(&mut self, bytes: u32, rise_bytes: u32) {
        let learnt = &mut self.learnt[Self::class(bytes)];
        *learnt = rise_bytes.max(*learnt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_rise_of_a_class_counts() {
        let mut memory = MemoryEstimate::new();
        assert_eq!(memory.of(1_000), 1_000 + OVERHEAD_BYTES);
        memory.learn(1_000, 2_304);
        memory.learn(1_001, 1_280);
        assert_eq!((memory.of(1_000), memory.of(1_001)), (2_304, 2_304));
        assert_eq!(memory.of(100), 100 + OVERHEAD_BYTES, "another class");
        memory.learn(u32::MAX, 5);
        assert_eq!(memory.of(65_535), 5, "the last class has no upper end");
    }
}
