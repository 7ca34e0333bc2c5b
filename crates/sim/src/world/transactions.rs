//! Number and latencies of transactions.

use hdrhistogram::Histogram;

use taut_measure::meter::histogram_ns;

/// The transactions of all clients of a world.
#[derive(Debug)]
pub struct Transactions {
    latency_ns: Histogram<u64>,
}

impl Transactions {
    pub(super) fn new() -> Self {
        Self {
            latency_ns: histogram_ns(),
        }
    }

    /// Moves the finished transactions here, with their latencies in ns.
    #[inline]
    pub(super) fn take(&mut self, ended_ns: &mut Vec<u64>) {
        if !ended_ns.is_empty() {
            self.record(ended_ns);
        }
    }

    fn record(&mut self, ended_ns: &mut Vec<u64>) {
        for latency_ns in ended_ns.drain(..) {
            self.latency_ns.saturating_record(latency_ns);
        }
    }

    /// Returns the latencies, from the write of the request to the read of the whole response, in
    /// ns.
    pub fn latency_ns(&self) -> &Histogram<u64> {
        &self.latency_ns
    }
}
