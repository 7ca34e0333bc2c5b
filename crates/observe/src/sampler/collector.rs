//! What keeps the samples of one queue.

use taut_linux::observe::Sample;

/// Keeps the samples of one queue, whole or reduced.
pub trait Collector: Clone + Send + 'static {
    /// Adds a sample taken at `at_ns`.
    fn add(&mut self, at_ns: u64, sample: Sample);
}
