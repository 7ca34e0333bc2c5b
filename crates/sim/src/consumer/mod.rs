//! A software device: a ring that a polling thread empties, on the sender's core or on a separate
//! one.
//!
//! In contrast to a card, the consumer can work while the sender is descheduled. This time then
//! grows with the limit itself, and only the context switches are lost.

mod fixed_limits;
mod ledger;
mod run;

pub use fixed_limits::FixedLimits;
pub use run::observe;

use std::fmt;
use std::str::FromStr;

use hdrhistogram::Histogram;
use taut_dql::MAX_OBJECT;
use taut_path::units::{Time, parse_time_ns};

use crate::error::{TestbedError, demand};

/// When the queue is notified of finished packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notify {
    /// For each packet.
    Packet,
    /// Once, at the end of a poll.
    Poll,
    /// This time after the first finished packet that was not yet reported, in ns. At once if these
    /// packets exceed the limit.
    After(u64),
}

impl Notify {
    /// Returns the maximum notification delay beyond the processing time, in ns.
    const fn longest_ns(self) -> u64 {
        match self {
            Self::Packet | Self::Poll => 0,
            Self::After(after_ns) => after_ns,
        }
    }
}

impl fmt::Display for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Packet => f.write_str("packet"),
            Self::Poll => f.write_str("poll"),
            Self::After(ns) => Time(ns).fmt(f),
        }
    }
}

impl FromStr for Notify {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "packet" => Ok(Self::Packet),
            "poll" => Ok(Self::Poll),
            _ => match parse_time_ns(text) {
                Ok(ns) if (1..=1_000_000_000).contains(&ns) => Ok(Self::After(ns)),
                _ => Err("expected packet, poll, or a time up to 1s"),
            },
        }
    }
}

/// Maximum of each cost: an hour.
const MAX_COST_NS: u64 = 3_600_000_000_000;

/// Half of the range, so that additions to it cannot overflow.
const LATEST_END_NS: u64 = u64::MAX / 2;

/// A ring, its sender and its consumer. Times are in ns; costs are at most an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerConfig {
    /// Whether the consumer runs on the sender's core. Then one of the two runs at a time, until it
    /// has no work left. On a separate core, an idle thread sleeps until the other wakes it.
    pub shared_core: bool,
    /// Cost of a packet for the consumer, at least 1.
    pub consumer_ns: u64,
    /// Cost of a packet for the sender, at least 1.
    pub sender_ns: u64,
    /// Switch between the two on a shared core; time from a wake to the first work on two cores.
    pub switch_ns: u64,
    /// Cost of a wake; on two cores only.
    pub wake_ns: u64,
    /// Slots of the ring, at least 1.
    pub ring: u32,
    /// Maximum packets of a poll, at least 1.
    pub poll: u32,
    /// When the queue is notified.
    pub notify: Notify,
    /// Units of a packet, at least 1 and at most [`MAX_OBJECT`]: 1 if the limit counts packets.
    pub units: u32,
    /// Mean time between pings; 0 sends none.
    pub ping_ns: u64,
    /// Seed of the pings.
    pub seed: u64,
    /// End of the warm-up.
    pub warm_ns: u64,
    /// The end of the run, at most half of the range of ns.
    pub end_ns: u64,
}

impl ConsumerConfig {
    /// Checks that the settings can be run.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub fn check(&self) -> Result<(), TestbedError> {
        let max_packets = u64::from(u32::MAX);
        let numbers = [
            ("ring", u64::from(self.ring), 1..=max_packets),
            ("poll", u64::from(self.poll), 1..=max_packets),
            ("units", u64::from(self.units), 1..=MAX_OBJECT.into()),
            ("consumer_ns", self.consumer_ns, 1..=MAX_COST_NS),
            ("sender_ns", self.sender_ns, 1..=MAX_COST_NS),
            ("switch_ns", self.switch_ns, 0..=MAX_COST_NS),
            ("wake_ns", self.wake_ns, 0..=MAX_COST_NS),
            ("notify, in ns,", self.notify.longest_ns(), 0..=MAX_COST_NS),
            ("end_ns", self.end_ns, 0..=LATEST_END_NS),
        ];
        for (what, number, allowed) in numbers {
            demand(what, number, allowed)?;
        }
        Ok(())
    }
}

/// Results of a run.
#[derive(Debug, Clone)]
pub struct ConsumerReport {
    /// Packets that the consumer finished per second, over whole cycles. A cycle lasts from one
    /// return of the sender to the next, so short runs with equal cycles are exact.
    pub packets_per_s: f64,
    /// Mean packets queued and not yet reported.
    pub in_flight_mean: f64,
    /// Median over time of the limit, in packets.
    pub limit_p50: f64,
    /// Delay of a ping from its sending until the consumer finished it.
    pub ping_ns: Histogram<u64>,
    /// Packets queued.
    pub queued: u64,
    /// Packets finished by the consumer.
    pub finished: u64,
    /// Packets reported to the queue.
    pub reported: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notify_display_parses_back() {
        for text in ["packet", "poll", "100us"] {
            assert_eq!(
                text.parse().map(|it: Notify| it.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!("0us".parse::<Notify>().is_err() && "2s".parse::<Notify>().is_err());
    }
}
