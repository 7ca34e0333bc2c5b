//! The seam to the rules that say how much may be in flight.
//!
//! A rule has two halves, like the queue that it holds back: the sender's half says what was
//! queued and whether there is room, the completer's half hears what the device finished.

mod dynamic;
mod fixed;
mod front;
mod ladder;
mod need;
mod spec;

use taut_dql::{Error, Snapshot};

pub use dynamic::Dynamic;
pub use fixed::Fixed;
pub use ladder::{Ladder, Utilisation};
pub use need::Need;
pub use spec::{LimitSpec, LimitUser, ParseLimitError};

/// What one completion round finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Packets finished.
    pub packets: u32,
    /// Their bytes, as they were queued.
    pub bytes: u32,
}

/// The values of a rule that can be set while it runs, in the rule's own units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKnob {
    /// The limit itself; the rule moves it on from there.
    Limit,
    /// The least that the rule may set.
    LimitMin,
    /// The most that the rule may set.
    LimitMax,
}

/// A rule, before it is divided into its halves.
pub trait Limit {
    /// What the sending side holds.
    type Sender: LimitSender;
    /// What the completing side holds.
    type Completer: LimitCompleter;

    /// Whether its units are bytes, and not packets.
    fn counts_bytes(&self) -> bool {
        true
    }

    /// Divides the rule. `now_ns` starts its clock.
    ///
    /// # Errors
    /// If its settings contradict each other.
    fn split(self, now_ns: u64) -> Result<(Self::Sender, Self::Completer), Error>;

    /// Forgets everything in flight and begins a new epoch. Needs both halves, hence nobody can be
    /// sending or completing meanwhile.
    ///
    /// # Errors
    /// [`Error::NotTheSameQueue`] if the halves belong to different rules; nothing changes.
    fn reset(
        sender: &mut Self::Sender,
        completer: &mut Self::Completer,
        now_ns: u64,
    ) -> Result<(), Error>;
}

/// The sender's half of a rule.
pub trait LimitSender {
    /// Accounts for one packet, **before** the device can see it. `now_ns` tells a rule that cares
    /// when a sender that was held back is there again; Linux's rule does not.
    ///
    /// # Errors
    /// If the packet cannot be counted; nothing is counted.
    fn queued(&mut self, bytes: u32, now_ns: u64) -> Result<(), Error>;

    /// Whether one more packet may go. The completer may turn it to true at any time.
    fn has_room(&self) -> bool;

    /// Units queued and not yet reported complete. The completer may lower it at any time.
    fn in_flight(&self) -> u32;

    /// The number of resets so far, wrapping.
    fn epoch(&self) -> u32;

    /// There is something to send and no room. Linux's rule does not care.
    fn refused(&mut self) {}

    /// The queue takes no more for now: what room it leaves is for others. Only a
    /// [budget](crate::budget) has others.
    fn share_room(&self) {}
}

/// The completer's half of a rule.
pub trait LimitCompleter {
    /// The device finished `done`, which is not empty. `more` says that the round stopped at its
    /// budget and will go on; should nothing be left for it then, [`tick`](Self::tick) is called
    /// instead.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] if that is more than is in flight; nothing changes.
    fn completed(&mut self, done: Done, now_ns: u64, more: bool) -> Result<(), Error>;

    /// Whether one more packet may go, read afresh.
    fn has_room(&self) -> bool;

    /// Room may have come that this queue does not use: it is for others. Only a
    /// [budget](crate::budget) has others. Returns whether that started this very queue.
    fn share_room(&self) -> bool {
        false
    }

    /// A round found nothing finished: does what was put off until `now_ns`.
    ///
    /// # Errors
    /// As [`completed`](Self::completed).
    fn tick(&mut self, _now_ns: u64) -> Result<(), Error> {
        Ok(())
    }

    /// When [`tick`](Self::tick) next has something to do, in ns.
    fn next_wakeup(&self) -> Option<u64> {
        None
    }

    /// The number of resets so far, wrapping.
    fn epoch(&self) -> u32;

    /// The counters and the limit, in the rule's units.
    fn snapshot(&self) -> Snapshot;

    /// Sets a value of the rule; it takes effect at the next completion.
    ///
    /// # Errors
    /// If the value is outside of what the rule allows; nothing changes.
    fn set(&mut self, knob: LimitKnob, units: u32) -> Result<(), Error>;

    /// Sets the time over which the rule looks for slack, in ns.
    fn set_hold_time_ns(&mut self, hold_time_ns: u64);
}
