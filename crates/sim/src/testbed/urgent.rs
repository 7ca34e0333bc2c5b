//! Delay of hypothetical packets of high priority.

use hdrhistogram::Histogram;

use taut_measure::meter::histogram_ns;

/// Packets that are not sent: each would overtake the backlog of the discipline.
pub(crate) struct Urgent {
    /// Arrival times of the packets that wait for room, in ns.
    came_ns: Vec<u64>,
    delay_ns: Histogram<u64>,
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
    pub(crate) fn queue(&mut self, now_ns: u64) {
        self.came_ns.push(now_ns);
    }

    /// Records a packet that arrives while there is room, `ahead_ns` behind the unsent packets.
    pub(crate) fn pass(&mut self, ahead_ns: u64) {
        self.delay_ns.saturating_record(ahead_ns);
    }

    /// Records the waiting packets, which now go `ahead_ns` behind the unsent packets.
    pub(crate) fn admit(&mut self, now_ns: u64, ahead_ns: u64) {
        for came_ns in self.came_ns.drain(..) {
            let delay_ns = (now_ns - came_ns).saturating_add(ahead_ns);
            self.delay_ns.saturating_record(delay_ns);
        }
    }

    /// Returns the delays until the wire starts the packets, in ns.
    pub(crate) fn delay_ns(&self) -> &Histogram<u64> {
        &self.delay_ns
    }
}
