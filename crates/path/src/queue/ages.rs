//! Marks of packets with the generation in which they are sent; see [`taut_dql::stall`].

use taut_dql::ledger::Ledger;
use taut_dql::stall::{AGES, AgeClock};
pub(super) use taut_dql::stall::{AgeLine, StallDetector};

use crate::packet::Mark;
use crate::sharing::Sharing;

const _: () = assert!(Mark::AGES == AGES);

/// The sender's part: begins generations.
#[derive(Debug)]
pub(super) struct AgeMarker {
    /// The mark of packets that are sent now.
    pub mark: Mark,
    clock: AgeClock,
}

impl AgeMarker {
    pub fn new(mark: Mark) -> Self {
        Self {
            mark,
            clock: AgeClock::default(),
        }
    }

    /// Begins a generation if it is time.
    #[inline]
    pub fn run<M: Sharing>(&mut self, line: &AgeLine<M>, ledger: &Ledger<M>, now_ns: u64) {
        if let Some(age) = self.clock.run(line, ledger, now_ns) {
            self.mark = self.mark.in_age(age);
        }
    }
}
