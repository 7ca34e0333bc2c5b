//! What a packet of high priority would wait that came now and then.

use hdrhistogram::Histogram;

use taut_measure::meter::histogram_ns;

/// Packets that nobody sends: each would go past all that waits in the discipline.
pub(crate) struct Urgent {
    /// When each came that waits for room.
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
    pub(crate) fn comes(&mut self, now_ns: u64) {
        self.came_ns.push(now_ns);
    }

    /// One comes while there is room, and goes behind so much on the wire.
    pub(crate) fn passes(&mut self, ahead_ns: u64) {
        self.delay_ns.saturating_record(ahead_ns);
    }

    /// There is room: what came goes now, behind so much on the wire.
    pub(crate) fn goes(&mut self, now_ns: u64, ahead_ns: u64) {
        for came_ns in self.came_ns.drain(..) {
            let delay_ns = (now_ns - came_ns).saturating_add(ahead_ns);
            self.delay_ns.saturating_record(delay_ns);
        }
    }

    /// How long each waited until it had the wire, in ns.
    pub(crate) fn delay_ns(&self) -> &Histogram<u64> {
        &self.delay_ns
    }
}
