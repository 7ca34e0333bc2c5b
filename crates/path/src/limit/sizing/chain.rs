//! The rounds of one reap, and what was needed between the refills among them.
//!
//! A reap that stops at its budget goes on in the next round, and a sender that finds the room of
//! one round refills before the next:
//!
//! ```text
//!   end of the chain before      round, refill    round, refill    last round
//!   ------------+-----------------------+----------------+--------------+-----> time
//!               |<--- first window ---->|<-- second ---->|<--- last ----|----
//! ```
//!
//! What was in flight at the start of a window must last to its end. The budget hides how much had
//! finished at each refill, but not how much had at the end of the chain, and the rate says how
//! much of that came after the refill.

use super::rate::Rate;
use crate::limit::CompletionBatch;

/// A window is not believed to have needed more than so many times what there was: no more than that can have
/// finished in it, and what finished later is not told apart from it while no rate is known.
const MOST_TIMES: u64 = 4;

/// Time between two refills, in which the device lived on the first of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When the refill came that ended it.
    until_ns: u64,
    /// What had finished and was made up for by the refill before it, since the chain before.
    made_up_bytes: u64,
    /// What was queued in it, counted from the same point.
    queued_bytes: u64,
}

/// What a window needed, and what there was.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needed {
    /// What it needed, in bytes.
    pub bytes: u64,
    /// What was in flight at its start.
    pub had_bytes: u64,
    /// What had finished at its start and is no part of it.
    pub made_up_bytes: u64,
    /// From its end to that of the chain, in ns.
    pub before_end_ns: u64,
}

/// The rounds so far of one reap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    finished_bytes: u64,
    left_bytes: u32,
    came_back_ns: Option<u64>,
    made_up_bytes: u64,
    hardest: Option<Window>,
    /// Nothing was in flight after one of its rounds but the last.
    emptied: bool,
}

impl Chain {
    /// Begins with a round, of which nothing is counted yet.
    pub(crate) fn new(round: &CompletionBatch) -> Self {
        Self {
            finished_bytes: 0,
            left_bytes: round.in_flight,
            came_back_ns: None,
            made_up_bytes: 0,
            hardest: None,
            emptied: false,
        }
    }

    /// Counts the next round, under the limit that held until now.
    pub(crate) fn round(&mut self, round: &CompletionBatch, limit_bytes: u32, rate: &Rate) {
        if round.in_flight > self.left_bytes {
            self.refilled(round, limit_bytes, rate);
        }
        self.came_back_ns = self.came_back_ns.or(round.sender_returned_ns);
        self.finished_bytes = self.finished_bytes.saturating_add(round.units.into());
        self.left_bytes = round.in_flight - round.units;
        self.emptied |= round.more_pending && self.left_bytes == 0;
    }

    /// Somebody queued since the last round.
    fn refilled(&mut self, round: &CompletionBatch, limit_bytes: u32, rate: &Rate) {
        // What is missing to the limit was not made up for.
        let missing_bytes = u64::from(limit_bytes.saturating_sub(round.in_flight));
        let made_up_bytes = self.finished_bytes.saturating_sub(missing_bytes);
        if made_up_bytes <= self.made_up_bytes {
            return;
        }
        let window = Window {
            until_ns: round.sender_returned_ns.unwrap_or(round.now_ns),
            made_up_bytes: self.made_up_bytes,
            queued_bytes: self.finished_bytes + u64::from(self.left_bytes),
        };
        if self.hardest.is_none_or(|it| window.is_harder(&it, rate)) {
            self.hardest = Some(window);
        }
        self.made_up_bytes = made_up_bytes;
    }

    /// What finished in it.
    pub(crate) fn finished_bytes(&self) -> u64 {
        self.finished_bytes
    }

    /// What is in flight after it.
    pub(crate) fn left_bytes(&self) -> u32 {
        self.left_bytes
    }

    /// When the sender queued first after the end of the chain before; `None` if it did not yet.
    pub(crate) fn came_back_ns(&self) -> Option<u64> {
        self.came_back_ns
    }

    /// What finished before the last refill in it and was made up for by it.
    pub(crate) fn made_up_bytes(&self) -> u64 {
        self.made_up_bytes
    }

    /// Whether the device had nothing to do at some round of it, the last one included.
    pub(crate) fn emptied(&self) -> bool {
        self.emptied || self.left_bytes == 0
    }

    /// What the hardest of its windows but the last needed, in a chain that ended at `end_ns`.
    pub(crate) fn hardest(&self, end_ns: u64, object_bytes: u32, rate: &Rate) -> Option<Needed> {
        let window = self.hardest?;
        let before_end_ns = end_ns.saturating_sub(window.until_ns);
        // An object counts when it is done, and so may be one that was all but done.
        let later_bytes = believed(rate, before_end_ns).saturating_sub(object_bytes.into());
        let had_bytes = window.queued_bytes - window.made_up_bytes;
        Some(Needed {
            bytes: (self.finished_bytes)
                .saturating_sub(later_bytes)
                .saturating_sub(window.made_up_bytes)
                .min(had_bytes.saturating_mul(MOST_TIMES)),
            had_bytes,
            made_up_bytes: window.made_up_bytes,
            before_end_ns,
        })
    }
}

impl Window {
    /// Whether it needed more than `before`, which ended before it did.
    fn is_harder(&self, before: &Self, rate: &Rate) -> bool {
        let between_ns = self.until_ns.saturating_sub(before.until_ns);
        believed(rate, between_ns) > self.made_up_bytes - before.made_up_bytes
    }
}

/// What is believed to have been done in a time: a sixteenth less than the rate says, which is a mean. To
/// believe too much would hide a device that ran dry.
fn believed(rate: &Rate, span_ns: u64) -> u64 {
    let bytes = rate.bytes(span_ns);
    bytes - (bytes >> 4)
}
