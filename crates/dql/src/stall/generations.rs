//! Generations: spans of time in which units were queued.

use crate::ledger::Ledger;
use crate::sharing::{Sharing, Wide, Word};
use crate::stall::DEFAULT_THRESHOLD_NS;

/// The maximum number of generations that can be in flight at a time.
pub const MAX_GENERATIONS: u32 = 8;

/// The generations as the sender and the completer of a queue share them.
#[derive(Debug)]
pub struct Generations<M: Sharing> {
    // Written by the sender: the newest generation, and the total queued and the time at which it
    // began.
    pub(super) number: M::Word,
    pub(super) begins_at: M::Word,
    pub(super) begun_ns: M::Wide,
    // Written by the completer: the generation after which another can begin, and how long
    // generations are.
    pub(super) known: M::Word,
    pub(super) length_ns: M::Wide,
}

impl<M: Sharing> Generations<M> {
    /// The first generation, for generations of an eighth of the threshold.
    pub fn new(threshold_ns: u64) -> Self {
        Self {
            number: M::Word::new(0),
            begins_at: M::Word::new(0),
            begun_ns: M::Wide::new(0),
            known: M::Word::new(0),
            length_ns: M::Wide::new(generation_length_ns(threshold_ns)),
        }
    }
}

/// Generations also pass while detection is off, because a threshold can be set later.
pub(super) fn generation_length_ns(threshold_ns: u64) -> u64 {
    let threshold_ns = match threshold_ns {
        0 => DEFAULT_THRESHOLD_NS,
        threshold_ns => threshold_ns,
    };
    (threshold_ns / u64::from(MAX_GENERATIONS)).max(1)
}

/// The sender's part: begins generations.
#[derive(Debug, Default)]
pub struct GenerationClock {
    /// When the next generation begins, in ns.
    next_ns: u64,
    /// Total queued when this generation began.
    begun_at: u32,
}

impl GenerationClock {
    /// Begins a generation if it is time. Returns its number.
    #[inline]
    pub fn run<M: Sharing>(
        &mut self,
        shared: &Generations<M>,
        ledger: &Ledger<M>,
        now_ns: u64,
    ) -> Option<u32> {
        if now_ns < self.next_ns {
            return None;
        }
        self.begin(shared, ledger.num_queued(), now_ns)
    }

    /// Begins a generation if it is time and the completer has room for one. Returns its number.
    #[cold]
    pub fn begin<M: Sharing>(
        &mut self,
        shared: &Generations<M>,
        num_queued: u32,
        now_ns: u64,
    ) -> Option<u32> {
        if now_ns < self.next_ns {
            return None;
        }
        let number = shared.number.load();
        if shared.known.load_acquire() != number {
            // The completer has not followed yet. A generation in which nothing was sent begins
            // now.
            if self.begun_at == num_queued {
                shared.begun_ns.store(now_ns);
            }
            return None;
        }
        self.next_ns = now_ns.saturating_add(shared.length_ns.load());
        self.begun_at = num_queued;
        shared.begins_at.store(num_queued);
        shared.begun_ns.store(now_ns);
        // Release: a completer that sees the generation sees where and when it begins.
        shared.number.store_release(number.wrapping_add(1));
        Some(number.wrapping_add(1))
    }
}
