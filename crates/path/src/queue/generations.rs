//! Tags of packets with the generation in which they are sent; see [`taut_dql::stall`].

use taut_dql::ledger::Ledger;
use taut_dql::stall::{GenerationClock, MAX_GENERATIONS};
pub(super) use taut_dql::stall::{Generations, StallDetector};

use crate::packet::Tag;
use crate::sharing::Sharing;

const _: () = assert!(Tag::GENERATIONS == MAX_GENERATIONS);

/// The sender's part: begins generations.
#[derive(Debug)]
pub(super) struct GenerationTagger {
    /// The tag of packets that are sent now.
    pub tag: Tag,
    clock: GenerationClock,
}

impl GenerationTagger {
    pub fn new(tag: Tag) -> Self {
        Self {
            tag,
            clock: GenerationClock::default(),
        }
    }

    /// Begins a generation if it is time.
    #[inline]
    pub fn run<M: Sharing>(&mut self, shared: &Generations<M>, ledger: &Ledger<M>, now_ns: u64) {
        if let Some(generation) = self.clock.run(shared, ledger, now_ns) {
            self.tag = self.tag.in_generation(generation);
        }
    }
}
