//! Where completion patterns come from: files, families that are drawn, and the published six.

pub mod families;
mod header;
pub mod published;
pub mod read;

/// 1 Gbit/s.
const BYTES_PER_S: u64 = 125_000_000;

/// A full segment as it is counted.
const FULL_BYTES: u32 = 1_514;
