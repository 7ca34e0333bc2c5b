//! The progress line of the run.

use crate::talk::ChangingLine;

/// One line on a terminal that changes; nothing otherwise.
pub struct Progress {
    line: ChangingLine,
    steps: u64,
    all_steps: u64,
    last_bytes: u64,
}

impl Progress {
    /// Time between two changes of the line.
    pub const STEP_NS: u64 = 250_000_000;

    /// For a run of `length_ns`.
    pub fn new(length_ns: u64) -> Self {
        Self {
            line: ChangingLine::new(),
            steps: 0,
            all_steps: length_ns.div_ceil(Self::STEP_NS),
            last_bytes: 0,
        }
    }

    /// Shows how fast it goes, once each [`STEP_NS`](Self::STEP_NS).
    pub fn show(&mut self, completed_bytes: u64) {
        self.steps += 1;
        let bytes = completed_bytes - std::mem::replace(&mut self.last_bytes, completed_bytes);
        let mbit = bytes * (1_000_000_000 / Self::STEP_NS) * 8 / 1_000_000;
        let percent = (self.steps * 100 / self.all_steps).min(100);
        self.line.show(&format!("{percent} %: {mbit} Mbit/s"));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.line.clear();
    }
}
