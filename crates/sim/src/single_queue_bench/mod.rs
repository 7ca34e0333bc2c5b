//! One sender, one transmit queue and one emulated NIC in virtual time, without a network, for the
//! experiments on a single queue.
//!
//! [`observe`] runs a bench from time 0 to its end and returns the results. The sender, the
//! interrupts and the packets share one core; each can have a cost.

mod feed;
mod rule;
mod run;
mod samples;
mod send;
#[cfg(test)]
mod tests;
mod watch;

use hdrhistogram::Histogram;
use taut_path::{Frame, Packet, Segmentation};

use crate::HEADER_BYTES;
use crate::error::{TestbedError, demand_countable, demand_order};
use crate::nic::{NicConfig, WireCounters};
pub use crate::time_series::{Sample, TimeSeries};
pub use rule::{ParseRuleError, Rule};
pub use run::{observe, observe_with};
use taut_measure::meter::Quantiles;

/// The largest plain packet; a longer object is a GSO packet.
const LARGEST_FRAME_BYTES: u32 = 1_514;

/// The traffic source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficSource {
    /// Always has packets to send.
    Saturating,
    /// Sends this many packets at once, periodically; with one packet, a light load.
    Bursts {
        /// Packets of a burst.
        packets: u32,
        /// Interval between bursts, in ns; at least 1.
        every_ns: u64,
        /// Each interval varies by up to this time in both directions, in ns, uniformly.
        jitter_ns: u64,
    },
    /// Sends until `ENOBUFS` ("no buffer space"), and then reacts as given.
    Blind(WhenFull),
}

/// Reaction of a sender to `ENOBUFS` ("no buffer space").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Sleeps until the first tick after this time.
    Sleep {
        /// The requested sleep, in ns.
        sleep_ns: u64,
        /// Tick of the clock, in ns; 0 is a clock without ticks.
        tick_ns: u64,
    },
    /// Tries again after this time, in ns, during which it keeps the core busy; at least 1.
    Spin(u64),
    /// Waits until it is woken.
    Wait,
}

/// Costs on the shared core, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Cost of each interrupt, before it reaps.
    pub interrupt_ns: u64,
    /// Cost of each packet before it is enqueued, and of each call of a blind sender.
    pub packet_ns: u64,
    /// Cost of waking a sender that waited for room in the discipline, except a blind one.
    pub wakeup_ns: u64,
}

/// Reaping after an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reap {
    /// Maximum packets of a batch, at least 1. A batch that reaches it is followed by another.
    pub budget_packets: u32,
    /// Time between these batches, in ns.
    pub poll_interval_ns: u64,
}

impl Reap {
    /// No budget: one batch reaps everything.
    pub const ALL: Self = Self {
        budget_packets: u32::MAX,
        poll_interval_ns: 0,
    };
}

/// Settings of a bench and of its measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleQueueConfig {
    /// Link rate, ring, interrupts, seed.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped at a full ring restarts; the NIC's own value if
    /// `None`.
    pub restart_slots: Option<u32>,
    /// Reaping after an interrupt.
    pub reap: Reap,
    /// Capacity of the discipline, a FIFO, in packets; 1 to a million, other values are clamped.
    pub backlog_packets: u32,
    /// Object sizes, in bytes with one set of headers, used in turn. An object above 1,514 bytes is
    /// a GSO packet; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub object_bytes: Vec<u32>,
    /// The traffic source.
    pub source: TrafficSource,
    /// Costs on the core.
    pub cost: Cost,
    /// Changes of the link rate: (ns, bit/s), in order of time.
    pub rate_changes: Vec<(u64, u64)>,
    /// End of the warm-up, in ns.
    pub measure_from_ns: u64,
    /// The end, in ns.
    pub end_ns: u64,
    /// Interval between samples of the delay of a high-priority packet, in ns; 0 takes none.
    pub sample_ns: u64,
}

/// Backlog above a saturated queue, in packets: more than one burst.
const BACKLOG_PACKETS: u32 = 100;

impl SingleQueueConfig {
    /// Returns the settings of a saturating sender of objects of one size, limited only by the
    /// queue and measured from the start. Override other fields, and the end, with `..`.
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

    /// Checks that a bench can be run with the settings. The NIC and the queue check theirs when
    /// they are created.
    ///
    /// # Errors
    /// - If there are no object sizes.
    /// - If an object is larger than a limit can count.
    /// - If the rate changes are not in order of time.
    pub fn check(&self) -> Result<(), TestbedError> {
        if self.object_bytes.is_empty() {
            return Err(TestbedError::Missing("no object sizes"));
        }
        demand_countable(self.object_bytes.iter().copied(), "object_bytes")?;
        demand_order(
            self.rate_changes.iter().map(|it| it.0),
            "at_ns of rate_changes",
        )
    }
}

/// Results of a bench.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Bytes in flight, queued minus reported, in the measured time.
    pub in_flight_bytes: Quantiles,
    /// 99th percentile of the bytes in flight.
    pub in_flight_p99_bytes: u64,
    /// Mean bytes in flight.
    pub in_flight_mean_bytes: u64,
    /// The limit at the end, in bytes.
    pub limit_bytes: u32,
    /// The limit and the bytes in flight over the whole run.
    pub series: TimeSeries,
    /// Wire counters of the measured time.
    pub wire: WireCounters,
    /// Wire counters at time 0, at each change of the rate, and at the end: (ns, counters).
    pub marks: Vec<(u64, WireCounters)>,
    /// Share of the measured time in which the wire was busy, at the last rate.
    pub utilisation: f64,
    /// Completion batches after which the device was empty while the limit blocked the sender, over
    /// the whole run.
    pub starved: u64,
    /// Delay of a new packet of high priority before the wire starts it, in ns.
    pub urgent_delay_ns: Histogram<u64>,
    /// Time from the discipline to the last bit on the wire, in ns.
    pub latency_ns: Histogram<u64>,
    /// Time from the last bit on the wire to the reap, in ns; 0 for packets reaped before.
    pub held_ns: Histogram<u64>,
    /// Work requested from the core in the measured time, as a share of that time. Counted when it
    /// is requested, not when it is done. It exceeds 1 on overload, and ignores pending work at
    /// both ends.
    pub core_share: f64,
    /// Sends that failed with `ENOBUFS` in the measured time.
    pub failed_sends: u64,
    /// Wake-ups of the sender in the measured time.
    pub wakeups: u64,
    /// Packets dropped by the discipline, over the whole run.
    pub drops: u64,
    /// Packet counts over the whole run, and packets still on the path.
    pub ledger: PacketLedger,
}

/// Counts of all packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketLedger {
    /// Packets enqueued.
    pub entered: u64,
    /// Packets completed by the device.
    pub freed: u64,
    /// Packets queued in the discipline.
    pub waiting: u64,
    /// Packets in the ring.
    pub in_ring: u64,
}

/// Returns an object of `bytes`, with full segments on the wire if it is longer than one.
pub fn object(frame: u32, bytes: u32) -> Packet {
    let mut packet = Packet::new(Frame::new(frame), bytes);
    if bytes > LARGEST_FRAME_BYTES {
        packet.segmentation =
            Segmentation::new(HEADER_BYTES, LARGEST_FRAME_BYTES as u16 - HEADER_BYTES);
    }
    packet
}
