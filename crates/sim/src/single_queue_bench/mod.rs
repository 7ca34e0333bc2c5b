//! One sender, one transmit queue, one emulated NIC, in virtual time: all that the experiments on
//! a single queue need, and nothing of a network.
//!
//! [`observe`] runs a bench from time 0 to its end and tells what was seen. The sender, the
//! interrupts and the packets share one core, on which each can be given a cost.

mod feed;
mod rule;
mod run;
mod seen;
mod send;
#[cfg(test)]
mod tests;
mod watch;

use hdrhistogram::Histogram;
use taut_path::{Frame, Packet, Segmentation};

use crate::HEADER_BYTES;
use crate::error::{TestbedError, demand_countable, demand_order};
use crate::nic::{NicConfig, WireCounters};
pub use crate::source::WhenFull;
pub use crate::time_series::{Sample, TimeSeries};
pub use rule::{ParseRuleError, Rule};
pub use run::{observe, observe_with};
use taut_measure::meter::Quantiles;

/// The largest plain packet; a longer object is a super-packet.
const LARGEST_FRAME_BYTES: u32 = 1_514;

/// What sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficSource {
    /// Always has something to send.
    Saturating,
    /// So many packets at once, again and again: with one packet, a light load.
    Bursts {
        /// Packets of a burst.
        packets: u32,
        /// From burst to burst, in ns; at least 1.
        every_ns: u64,
        /// Each gap is longer or shorter by up to this much, in ns, evenly spread.
        jitter_ns: u64,
    },
    /// Sends until there is "no buffer space", and then does what is said.
    Blind(WhenFull),
}

/// What things cost on the one core, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Each interrupt, before it reaps.
    pub interrupt_ns: u64,
    /// Each packet, before it is handed to the discipline; each call of a blind sender.
    pub packet_ns: u64,
    /// Waking a sender that found no room in the discipline, except a blind one.
    pub wakeup_ns: u64,
}

/// How completions are reaped after an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reap {
    /// Most packets of a round, at least 1. A round that reaches it is followed by another.
    pub budget_packets: u32,
    /// From a round to the next, in ns.
    pub round_ns: u64,
}

impl Reap {
    /// Everything at once.
    pub const ALL: Self = Self {
        budget_packets: u32::MAX,
        round_ns: 0,
    };
}

/// A bench, and how it is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleQueueConfig {
    /// Link rate, ring, interrupts, seed.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped for a full ring starts again; the NIC's own if
    /// `None`.
    pub restart_slots: Option<u32>,
    /// How completions are reaped.
    pub reap: Reap,
    /// Packets that the discipline, a first-in first-out, can hold; 0 counts as 1, and more than a
    /// million as a million.
    pub backlog_packets: u32,
    /// Sizes of what is sent, in bytes with one set of headers, used in turn. More than 1,514 is a
    /// super-packet; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub object_bytes: Vec<u32>,
    /// What sends.
    pub source: TrafficSource,
    /// What it costs.
    pub cost: Cost,
    /// The link rate from a time on: (ns, bit/s), in order of time.
    pub rate_changes: Vec<(u64, u64)>,
    /// What is before this time is not measured, in ns.
    pub measure_from_ns: u64,
    /// The end, in ns.
    pub end_ns: u64,
    /// How often to ask what a new packet of high priority would wait, in ns; 0 asks never.
    pub sample_ns: u64,
}

/// Packets that always wait above a saturated queue: more than one burst.
const BACKLOG_PACKETS: u32 = 100;

impl SingleQueueConfig {
    /// A sender of objects of one size that waits for nothing but the queue, measured from the
    /// start. What differs, and the end, is said with `..`.
    pub fn saturated(nic: NicConfig, object_bytes: u32) -> Self {
        Self {
            nic,
            restart_slots: None,
            reap: Reap::ALL,
            backlog_packets: BACKLOG_PACKETS,
            object_bytes: vec![object_bytes],
            source: TrafficSource::Saturating,
            cost: Cost::default(),
            rate_changes: Vec::new(),
            measure_from_ns: 0,
            end_ns: 0,
            sample_ns: 0,
        }
    }

    /// Whether a bench can be run with this; NIC and queue look at theirs when they are made.
    ///
    /// # Errors
    /// If there is nothing to send, an object that no limit can count, or a rate that comes before
    /// the one that it follows.
    pub fn check(&self) -> Result<(), TestbedError> {
        if self.object_bytes.is_empty() {
            return Err(TestbedError::Missing("no sizes to send"));
        }
        demand_countable(self.object_bytes.iter().copied(), "object_bytes")?;
        demand_order(self.rate_changes.iter().map(|it| it.0), "rate_changes")
    }
}

/// What was seen.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Bytes in flight, queued minus reported, over the measured time.
    pub in_flight_bytes: Quantiles,
    /// Their 99th percentile.
    pub in_flight_p99_bytes: u64,
    /// Their mean.
    pub in_flight_mean_bytes: u64,
    /// The limit at the end, in bytes.
    pub limit_bytes: u32,
    /// The limit and what was in flight, over all of the time.
    pub course: TimeSeries,
    /// What the wire carried in the measured time.
    pub wire: WireCounters,
    /// What it had carried at time 0, at each change of the rate, and at the end: (ns, counters).
    pub marks: Vec<(u64, WireCounters)>,
    /// Share of the measured time in which the wire was busy, at the last rate.
    pub utilisation: f64,
    /// Rounds after which the device had nothing left while the limit held the sender back, over
    /// all of the time.
    pub starved: u64,
    /// What a new packet of high priority would wait before it has the wire, in ns.
    pub urgent_delay_ns: Histogram<u64>,
    /// From the discipline to the last bit on the wire, in ns.
    pub latency_ns: Histogram<u64>,
    /// From the last bit on the wire to the reap, in ns; 0 for what is reaped before.
    pub held_ns: Histogram<u64>,
    /// What the core was asked to do in the measured time, as a share of it. Counted when it is
    /// asked for, not when it is done: above 1 where more is asked for than can be done, and off by
    /// what is left at either end.
    pub core_share: f64,
    /// Sends refused with "no buffer space", over the measured time.
    pub failed_sends: u64,
    /// Times that the sender woke, over the measured time.
    pub wakeups: u64,
    /// Packets dropped by the discipline, over all of the time.
    pub drops: u64,
    /// Packets freed and packets that entered, over all of the time, and what is still on the path.
    pub ledger: PacketLedger,
}

/// Where all packets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketLedger {
    /// Handed to the discipline.
    pub entered: u64,
    /// Came back from the device.
    pub freed: u64,
    /// Wait in the discipline.
    pub waiting: u64,
    /// Are in the ring.
    pub in_ring: u64,
}

/// An object of `bytes`, cut into full segments on the wire if it is longer than one.
pub fn object(frame: u32, bytes: u32) -> Packet {
    let mut packet = Packet::new(Frame::new(frame), bytes);
    if bytes > LARGEST_FRAME_BYTES {
        packet.segmentation =
            Segmentation::new(HEADER_BYTES, LARGEST_FRAME_BYTES as u16 - HEADER_BYTES);
    }
    packet
}
