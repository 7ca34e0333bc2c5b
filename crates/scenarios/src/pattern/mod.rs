//! Sources of completion traces: files, generated families, and the six published traces.

mod families;
mod header;
mod published;
pub mod read;

pub use families::{Family, Times};

/// Returns the synthetic traces: the published six, then the families.
pub fn synthetic() -> impl Iterator<Item = &'static Family> {
    published::ALL.iter().chain(families::ALL)
}
