//! How much memory the kernel counts for an object, learnt from the level of the socket.

/// Sizes that are told apart: the kernel allocates in steps.
const CLASS_BYTES: u32 = 64;
const CLASSES: usize = (u16::MAX as u32 / CLASS_BYTES) as usize + 1;
/// Until something is known: the headers of a buffer.
const OVERHEAD_BYTES: u32 = 768;

#[derive(Debug)]
pub(super) struct Memory {
    /// By size class; 0 where nothing was learnt.
    learnt: Box<[u32]>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            learnt: vec![0; CLASSES].into(),
        }
    }

    fn class(bytes: u32) -> usize {
        ((bytes / CLASS_BYTES) as usize).min(CLASSES - 1)
    }

    /// What an object of `bytes` is expected to take.
    pub(super) fn of(&self, bytes: u32) -> u32 {
        match self.learnt[Self::class(bytes)] {
            0 => bytes + OVERHEAD_BYTES,
            learnt => learnt,
        }
    }

    /// The level rose by so much when an object was sent. Less is seen when others completed
    /// meanwhile, so the most counts.
    pub(super) fn learn(&mut self, bytes: u32, rise_bytes: u32) {
        let learnt = &mut self.learnt[Self::class(bytes)];
        *learnt = rise_bytes.max(*learnt);
    }
}
