//! Reading limit and bytes in flight at a fixed interval.
//!
//! `Sampler` is the only loop that does so. A caller that waits for the result runs it itself;
//! `LiveSampler` runs it on a thread and keeps the samples of each queue in a `Collector`.

mod histogram;
mod history;
mod live;
mod rounds;

#[cfg(test)]
mod tests;

pub use histogram::Histogram;
pub use history::{Bucket, History, Spread};
pub use live::{Collector, LiveSampler, LiveSettings, SampledQueue};
pub use rounds::Sampler;
