//! All queues for Prometheus: a page in its text format, and a small HTTP server for it.

mod request;
mod server;
mod text;

use crate::gather::{Host, Missing, Selection, gather};
use crate::sampler::{Histogram, LiveSampler};

pub use server::Server;

/// Returns the page with the current values of the queues of `selection` and the histograms of
/// `sampler`.
pub fn page(host: &Host, selection: &Selection, sampler: &LiveSampler<Histogram>) -> String {
    text::page(&gather(host, selection, Missing::Skip), sampler)
}
