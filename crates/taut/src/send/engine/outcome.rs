//! What was sent, and whether it adds up.

use std::collections::BTreeMap;

use taut_linux::{Frames, Port};
use taut_path::DropReason;
use taut_path::driver::Truth;
use taut_path::limit::Unit;

use super::Engine;

/// What was done by some time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    pub at_ns: u64,
    pub packets: u64,
    pub bytes: u64,
}

/// Which part of the time is measured.
#[derive(Debug)]
pub struct Measured {
    begin_ns: u64,
    end_ns: Option<u64>,
    from: Option<Mark>,
    to: Option<Mark>,
    last_completed_ns: u64,
}

impl Measured {
    pub fn new(now_ns: u64, warm_up_ns: u64, duration_ns: Option<u64>) -> Self {
        let begin_ns = now_ns.saturating_add(warm_up_ns);
        Self {
            begin_ns,
            end_ns: duration_ns.map(|duration_ns| begin_ns.saturating_add(duration_ns)),
            from: None,
            to: None,
            last_completed_ns: now_ns,
        }
    }

    /// Whether it begins now.
    pub fn begins(&self, now_ns: u64) -> bool {
        self.from.is_none() && now_ns >= self.begin_ns
    }

    pub fn begin(&mut self, mark: Mark) {
        self.from = Some(mark);
    }

    pub fn is_over(&self, now_ns: u64) -> bool {
        self.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
    }

    /// The source was stopped here; the first time counts.
    pub fn end(&mut self, mark: Mark) {
        self.to.get_or_insert(mark);
    }

    pub fn completed(&mut self, now_ns: u64) {
        self.last_completed_ns = now_ns;
    }

    /// Packets and bytes, and the time that they took: until the last one was completed, or the
    /// source was stopped.
    fn rate(&self, all: Mark) -> (u64, u64, u64) {
        let from = self.from.unwrap_or_default();
        let to = self.to.unwrap_or(Mark {
            at_ns: self.last_completed_ns,
            ..all
        });
        (
            to.packets.saturating_sub(from.packets),
            to.bytes.saturating_sub(from.bytes),
            to.at_ns.saturating_sub(from.at_ns).max(1),
        )
    }
}

/// What became of everything.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub driver: &'static str,
    pub mode: &'static str,
    pub truth: Truth,
    pub limit: String,
    pub limit_unit: Unit,
    /// Frames taken from the source.
    pub submitted_packets: u64,
    /// Sent for certain, as far as completions are true.
    pub completed_packets: u64,
    /// Sent, or lost with the link or the ring.
    pub in_doubt_packets: u64,
    pub dropped_packets: BTreeMap<&'static str, u64>,
    /// Came back and were never sent: the driver's mistake.
    pub stray_packets: u64,
    /// In the limit's units; nothing where there is none.
    pub limit_p50: Option<u64>,
    pub in_flight_p50_bytes: u64,
    pub in_flight_p90_bytes: u64,
    pub completion_p50_ns: u64,
    pub completion_p99_ns: u64,
    pub packets_per_s: f64,
    pub bits_per_s: f64,
    /// Why it ended before everything was sent.
    pub failed: Option<String>,
}

impl Outcome {
    pub fn all_dropped_packets(&self) -> u64 {
        self.dropped_packets.values().sum()
    }

    /// Packets that have not ended, or ended twice.
    pub fn unaccounted_packets(&self) -> u64 {
        let ended = self.completed_packets + self.in_doubt_packets + self.all_dropped_packets();
        self.submitted_packets.abs_diff(ended) + self.stray_packets
    }
}

impl<P: Port, F: Frames> Engine<P, F> {
    pub(super) fn outcome(&self, failed: Option<String>) -> Outcome {
        let (port, gauge) = (self.queue.device(), self.queue.probe());
        let truth = port.truth();
        let (packets, bytes, time_ns) = self.measured.rate(self.mark(0));
        let per_second = |number: u64| number as f64 * 1e9 / time_ns as f64;
        let by_queue = DropReason::ALL.map(|reason| (reason.name(), self.ends.drops.of(reason)));
        let has_limit = truth.holds() && !self.queue.limit().is_off();
        let latency_ns = &self.ends.latency_ns;
        // What was never looked at again is in doubt: the look failed.
        let in_doubt_packets = self.tally.in_doubt + self.tally.unconfirmed;
        Outcome {
            driver: port.driver(),
            mode: port.mode(),
            truth,
            limit: self.limit_name.clone(),
            limit_unit: self.limit_unit,
            submitted_packets: self.feed.submitted_packets,
            completed_packets: self.tally.completed,
            in_doubt_packets,
            dropped_packets: by_queue
                .into_iter()
                .chain(self.feed.refused.by_reason())
                .collect(),
            stray_packets: self.ends.stray_packets,
            limit_p50: has_limit.then(|| gauge.limit_p50()),
            in_flight_p50_bytes: gauge.in_flight_bytes(0.5),
            in_flight_p90_bytes: gauge.in_flight_bytes(0.9),
            completion_p50_ns: latency_ns.value_at_quantile(0.5),
            completion_p99_ns: latency_ns.value_at_quantile(0.99),
            packets_per_s: per_second(packets),
            bits_per_s: per_second(bytes * 8),
            failed,
        }
    }
}
