//! All queues for Prometheus: a page in its text format, and a small HTTP server for it.

mod connection;
mod request;
mod server;
mod text;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gather::{Host, Missing, Selection, gather};
use crate::sampler::{Histogram, LiveSampler};

pub use server::Server;

/// A page is served again until it reaches this age, so a flood of scrapes does not read the queues
/// more often.
const MAX_PAGE_AGE: Duration = Duration::from_millis(100);

/// Generates the page, at a limited rate.
#[derive(Debug)]
pub struct Pages<'a> {
    host: &'a Host,
    selection: &'a Selection,
    sampler: &'a LiveSampler<Histogram>,
    last: Option<(Instant, Arc<[u8]>)>,
}

impl<'a> Pages<'a> {
    /// Pages with the queues of `selection` and the histograms of `sampler`.
    pub fn new(
        host: &'a Host,
        selection: &'a Selection,
        sampler: &'a LiveSampler<Histogram>,
    ) -> Self {
        Self {
            host,
            selection,
            sampler,
            last: None,
        }
    }

    /// Returns the current page.
    pub fn page(&mut self) -> Arc<[u8]> {
        let now = Instant::now();
        if let Some((created, page)) = &self.last
            && now.duration_since(*created) < MAX_PAGE_AGE
        {
            return Arc::clone(page);
        }
        let inventory = gather(self.host, self.selection, Missing::Skip);
        let page: Arc<[u8]> = text::page(&inventory, self.sampler).into_bytes().into();
        self.last = Some((now, Arc::clone(&page)));
        page
    }
}
