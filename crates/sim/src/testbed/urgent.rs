//! Delay of hypothetical packets of high priority.

use hdrhistogram::Histogram;

use taut_measure::meter::histogram_ns;

/// Packets that are not sent: each would overtake the backlog of the discipline.
pub(crate) struct Urgent {
    /// Arrival times of the packets that wait for room, in ns.
    pub(crate) came_ns: Vec<u64>,
    /// Delays until the wire starts the packets, in ns.
    pub(crate) delay_ns: Histogram<u64>,
}

impl Default for Urgent {
    fn default() -> Self {
        Self {
            came_ns: Vec::new(),
            delay_ns: histogram_ns(),
        }
    }
}

impl Urgent {
    /// Records the waiting packets, which now go `ahead_ns` behind the unsent packets.
    pub(crate) fn admit(&mut self, now_ns: u64, ahead_ns: u64) {
        for came_ns in self.came_ns.drain(..) {
            let delay_ns = (now_ns - came_ns).saturating_add(ahead_ns);
            self.delay_ns.saturating_record(delay_ns);
        }
    }
}
