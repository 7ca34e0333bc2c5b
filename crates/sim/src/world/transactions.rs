//! How many transactions there were, and how long they took.

use hdrhistogram::Histogram;

use crate::meter::histogram;

/// The transactions of all clients of a world.
#[derive(Debug)]
pub struct Transactions {
    record_from_ns: u64,
    latency_ns: Histogram<u64>,
}

impl Transactions {
    pub(super) fn new(record_from_ns: u64) -> Self {
        Self {
            record_from_ns,
            latency_ns: histogram(),
        }
    }

    pub(super) fn ended(&mut self, latency_ns: u64, now_ns: u64) {
        if now_ns >= self.record_from_ns {
            self.latency_ns.saturating_record(latency_ns);
        }
    }

    /// Latencies, from the write of the request to the read of the whole response, in ns.
    pub fn latency_ns(&self) -> &Histogram<u64> {
        &self.latency_ns
    }
}
