//! A device that is a program: a ring that a polling thread empties, on the sender's core or on its
//! own.
//!
//! What differs from a card: the time in which the sender is away can be the time in which the
//! packets are worked at, so it grows with the limit itself, and only the switches between the two
//! are lost.

mod least;
mod ledger;
mod run;

pub use least::FixedLimits;
pub use run::observe;

use std::fmt;
use std::str::FromStr;

use hdrhistogram::Histogram;
use taut_dql::MAX_OBJECT;
use taut_path::units::{Time, parse_time_ns};

use crate::error::{TestbedError, demand};

/// Where the consumer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumerCore {
    /// On the sender's: one of the two works at a time, each until it has nothing left to do.
    Shared,
    /// On one of its own: who has nothing to do sleeps until the other wakes it.
    Own,
}

/// When the queue is told of what the consumer finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notify {
    /// Of each packet.
    Each,
    /// Once, at the end of a poll.
    Poll,
    /// So long after the first of which it was not told, in ns; at once when that is more than the
    /// limit.
    After(u64),
}

impl Notify {
    /// How long it can take until the queue is told, beyond what the packets take, in ns.
    const fn longest_ns(self) -> u64 {
        match self {
            Self::Each | Self::Poll => 0,
            Self::After(after_ns) => after_ns,
        }
    }
}

impl fmt::Display for ConsumerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::Own => "own",
        })
    }
}

impl FromStr for ConsumerCore {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "shared" => Ok(Self::Shared),
            "own" => Ok(Self::Own),
            _ => Err("a core is shared or own"),
        }
    }
}

impl fmt::Display for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Each => f.write_str("each"),
            Self::Poll => f.write_str("poll"),
            Self::After(ns) => Time(ns).fmt(f),
        }
    }
}

impl FromStr for Notify {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "each" => Ok(Self::Each),
            "poll" => Ok(Self::Poll),
            _ => match parse_time_ns(text) {
                Ok(ns) if (1..=1_000_000_000).contains(&ns) => Ok(Self::After(ns)),
                _ => Err("told is each, poll, or a time up to 1s"),
            },
        }
    }
}

/// An hour: so long may each cost be.
const LONGEST_COST_NS: u64 = 3_600_000_000_000;

/// Half of all there are: nothing that is added to it is lost.
const LATEST_END_NS: u64 = u64::MAX / 2;

/// A ring, who fills it and who empties it. Times are in ns; what costs, at most an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// Where the consumer runs.
    pub core: ConsumerCore,
    /// What a packet costs the consumer, at least 1.
    pub consumer_ns: u64,
    /// What a packet costs the sender, at least 1.
    pub sender_ns: u64,
    /// From one of them to the other on one core; from a wake to the first work on two.
    pub switch_ns: u64,
    /// What it costs to wake the other; on two cores only.
    pub wake_ns: u64,
    /// Slots of the ring, at least 1.
    pub ring: u32,
    /// Packets of a poll, at least 1.
    pub poll: u32,
    /// When the queue is told.
    pub told: Notify,
    /// What a packet counts for, at least 1 and at most [`MAX_OBJECT`]: 1 where the limit counts
    /// packets.
    pub units: u32,
    /// Mean time from one ping to the next; 0 sends none.
    pub ping_ns: u64,
    /// Seed of the pings.
    pub seed: u64,
    /// What is not measured at the start.
    pub warm_ns: u64,
    /// The end of the run, at most half of all ns that there are.
    pub end_ns: u64,
}

impl ConsumerConfig {
    /// Whether the two can be run with this.
    ///
    /// # Errors
    /// If a number is out of its range; says which.
    pub fn check(&self) -> Result<(), TestbedError> {
        let numbers = [
            (self.ring, u32::MAX, "ring", "at least 1"),
            (self.poll, u32::MAX, "poll", "at least 1"),
            (self.units, MAX_OBJECT, "units", "1 to 268435455"),
        ];
        for (number, most, what, allowed) in numbers {
            demand((1..=most).contains(&number), what, allowed)?;
        }
        let costs = [
            (self.consumer_ns, 1, "consumer_ns", "1 ns to an hour"),
            (self.sender_ns, 1, "sender_ns", "1 ns to an hour"),
            (self.switch_ns, 0, "switch_ns", "at most an hour"),
            (self.wake_ns, 0, "wake_ns", "at most an hour"),
            (self.told.longest_ns(), 0, "told", "at most an hour"),
        ];
        for (cost_ns, least_ns, what, allowed) in costs {
            let range_ns = least_ns..=LONGEST_COST_NS;
            demand(range_ns.contains(&cost_ns), what, allowed)?;
        }
        demand(
            self.end_ns <= LATEST_END_NS,
            "end_ns",
            "at most 9223372036854775807 ns",
        )
    }
}

/// What was seen of a run.
#[derive(Debug, Clone)]
pub struct ConsumerReport {
    /// Packets that the consumer finished a second. Over whole rounds, from one return of the
    /// sender to another, so that a run of seconds is exact where all rounds are alike.
    pub packets_per_s: f64,
    /// Mean of the packets queued and not told of.
    pub in_flight_mean: f64,
    /// Median over time of the limit, in packets.
    pub limit_p50: f64,
    /// What a ping waits, from when it is sent to when the consumer finished it.
    pub ping_ns: Histogram<u64>,
    /// Packets queued,
    pub queued: u64,
    /// finished by the consumer,
    pub finished: u64,
    /// and told of.
    pub told: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_written_as_they_are_read() {
        for text in ["each", "poll", "100us"] {
            assert_eq!(
                text.parse().map(|it: Notify| it.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!("0us".parse::<Notify>().is_err() && "2s".parse::<Notify>().is_err());
    }
}
