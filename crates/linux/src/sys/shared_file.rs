//! A file in memory that other processes read while it is written.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, fallocate};

/// A file's bytes as words that both sides access as atomics.
#[derive(Debug)]
pub(crate) struct Words {
    mapping: MmapRaw,
    number: usize,
}

impl Words {
    /// Maps `number` words of `file`, at least one. Allocates all of them first, so that a write
    /// never fails on a full file system.
    pub(crate) fn map(file: &File, number: usize) -> io::Result<Self> {
        let bytes = number * size_of::<AtomicU64>();
        fallocate(file, FallocateFlags::empty(), 0, bytes as u64)?;
        let mapping = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Self { mapping, number })
    }

    /// Returns all words.
    pub(crate) fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping starts at a page, has `number` words, and lives as long as `self`; a
        // word of any value is a valid atomic. The file keeps its length, because its directory is
        // accessible to its owner only.
        unsafe { std::slice::from_raw_parts(self.mapping.as_ptr().cast(), self.number) }
    }
}
