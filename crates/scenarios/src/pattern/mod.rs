//! Sources of completion traces: files, generated families, and the six published traces.

pub mod families;
mod header;
pub mod published;
pub mod read;

/// 1 Gbit/s.
const BYTES_PER_S: u64 = 125_000_000;

/// Size of a full segment as counted by the limit.
const FULL_BYTES: u32 = 1_514;
