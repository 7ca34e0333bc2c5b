//! The seam to the rules that say how much may be in flight.
//!
//! A rule is told what each round of completions finished, and says what the limit is from then
//! on. What is queued and complete is counted by the queue, in one place for all rules.

mod any;
mod counted;
mod dynamic;
mod fixed;
mod forward;
mod in_packets;
mod in_time;
mod ladder;
mod need;
mod sizing;

use alloc::boxed::Box;

use forward::forward_limit;
use taut_dql::{Config, Error};

pub use any::{
    AnyLimit, NamedLimit, NamedRule, ParseLimitError, RULES, Rule, RuleName, rules_help,
};
pub use counted::Counted;
pub use dynamic::Dynamic;
pub use fixed::Fixed;
pub use in_packets::InPackets;
pub use in_time::{CAP_NS, InTime};
pub use ladder::{Ladder, ParseUtilisationError, Utilisation};
pub use need::Need;

/// What one completion round finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// Packets finished.
    pub packets: u32,
    /// Their bytes, as they were queued.
    pub bytes: u32,
}

/// What a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes; a packet without any counts as one.
    Bytes,
    /// Packets.
    Packets,
}

/// One round of completions, as a rule hears of it. Totals count from the last reset and wrap at
/// 2^32; units are those of [`Limit::unit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// When, in ns.
    pub now_ns: u64,
    /// Units that finished: at most `in_flight`, and 0 only to close a chain, see `more`.
    pub units: u32,
    /// Units in flight before this round.
    pub in_flight: u32,
    /// Total units queued. The sender may have queued more by now.
    pub num_queued: u32,
    /// Units of the object that was queued last.
    pub last_object: u32,
    /// The round stopped at its budget and will go on: a chain of rounds. Should nothing be left
    /// for it then, a round of 0 units without `more` closes the chain.
    pub more: bool,
    /// When the sender queued first since it was asked, in ns; `None` while it is away. It is asked
    /// at the start, after a reset, and when [`Limit::asks_return`] says so.
    pub returned_ns: Option<u64>,
    /// Times that there was something to send and no room, wrapping.
    pub refusals: u32,
    /// How fast the device sends, in units a second, if the rule [asks](Limit::asks_rate) for that; 0
    /// while it is not known. See [`RateMeter`](crate::rate::RateMeter).
    pub rate_per_s: u64,
}

/// A rule: how much may be in flight.
///
/// The limit is soft: a queue may exceed it by one object, so a limit of 0 still lets one through.
pub trait Limit {
    /// What it counts.
    fn unit(&self) -> Unit {
        Unit::Bytes
    }

    /// The queue begins at `now_ns`, with nothing in flight.
    fn begin(&mut self, now_ns: u64);

    /// The limit now, in units, for the queue; more than [`MAX_LIMIT`](taut_dql::MAX_LIMIT) counts as
    /// that.
    fn limit(&self) -> u32;

    /// The device finished something. Returns the limit from now on, as [`limit`](Self::limit).
    fn completed(&mut self, round: &Round) -> u32;

    /// Whether, after the last round, it wants to know when the sender queues next.
    fn asks_return(&self) -> bool {
        false
    }

    /// Whether it wants to know how fast the device sends. It does not change.
    fn asks_rate(&self) -> bool {
        false
    }

    /// Forgets all history but its settings: nothing is in flight any more.
    fn reset(&mut self, now_ns: u64);

    /// The settings in force, as an operator reads them; `limit` is the limit of now.
    fn config(&self) -> Config;

    /// Changes settings. A limit put by hand holds until the rule moves it.
    ///
    /// # Errors
    /// If they contradict each other, or lie outside of what the rule allows; nothing changes.
    fn set_config(&mut self, config: Config) -> Result<(), Error>;
}

macro_rules! behind_a_pointer {
    ($($pointer:ty),*) => {$(
        impl<L: Limit + ?Sized> Limit for $pointer {
            fn unit(&self) -> Unit {
                (**self).unit()
            }

            forward_limit!(self => (**self));
        }
    )*};
}

behind_a_pointer!(Box<L>, &mut L);
