//! Sources of completion traces: files, generated families, and the six published traces.

mod families;
mod header;
mod published;
pub mod read;

pub use families::{Family, Times};

/// 1 Gbit/s.
const BYTES_PER_S: u64 = 125_000_000;

/// Size of a full segment as counted by the limit.
const FULL_BYTES: u32 = 1_514;

/// Returns the synthetic traces: the published six, then the families.
pub fn synthetic() -> impl Iterator<Item = &'static Family> {
    published::ALL.iter().chain(families::ALL)
}
