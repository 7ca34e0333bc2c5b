//! What is asked of a lane while it runs, and told at its end.

use taut_path::Probe;

use super::run::{Before, Lane};
use super::{Ledger, Observed};
use crate::nic::{WireCounters, link_ns};

impl<T: Probe> Lane<'_, T> {
    pub(super) fn plan_sample(&mut self) {
        let period_ns = self.config.sample_ns;
        self.sample_ns = (period_ns > 0).then(|| {
            let from_ns = self.samples.saturating_mul(period_ns);
            (self.config.measure_from_ns.saturating_add(from_ns))
                .saturating_add(self.feed.dice.below(period_ns))
        });
        self.samples += 1;
    }

    /// A packet of high priority would come now.
    pub(super) fn on_sample(&mut self, now_ns: u64) {
        self.urgent_ns.push(now_ns);
        if !self.queue.stopped_by_stack() && !self.queue.stopped_by_driver() {
            self.admit_urgent(now_ns);
        }
        self.plan_sample();
    }

    /// There is room: what waited for it goes now, behind what the NIC has not sent.
    pub(super) fn admit_urgent(&mut self, now_ns: u64) {
        let nic = self.queue.device();
        let submitted = self.queue.probe().submitted_time_bytes;
        let ahead = submitted.saturating_sub(nic.counters().time_bytes);
        let ahead_ns = link_ns(ahead, nic.rate_bits_per_s());
        for came_ns in self.urgent_ns.drain(..) {
            self.urgent_delay_ns
                .saturating_record(now_ns - came_ns + ahead_ns.min(u32::MAX.into()));
        }
    }

    pub(super) fn observed(mut self, before: &Before) -> Observed {
        let end_ns = self.config.end_ns;
        let waiting = self.queue.backlog().packets;
        let in_ring = self.queue.device().packets_in_ring() as u64;
        self.queue.probe_mut().course.count_until(end_ns);
        let now = self.queue.device().counters();
        self.marks.push((end_ns, now));
        let wire = WireCounters {
            packets: now.packets - before.wire.packets,
            frames: now.frames - before.wire.frames,
            time_bytes: now.time_bytes - before.wire.time_bytes,
            interrupts: now.interrupts - before.wire.interrupts,
        };
        let measured_ns = end_ns.saturating_sub(self.config.measure_from_ns).max(1) as f64;
        let rate_bits_per_s = self.queue.device().rate_bits_per_s() as f64;
        let watch = self.queue.probe();
        Observed {
            in_flight_bytes: watch.meter.in_flight_bytes(),
            in_flight_p99_bytes: watch.meter.in_flight_at_bytes(0.99),
            in_flight_mean_bytes: watch.meter.in_flight_mean_bytes(),
            limit_bytes: self.queue.snapshot().limit,
            course: watch.course.course().clone(),
            wire,
            utilisation: wire.time_bytes as f64 * 8e9 / rate_bits_per_s / measured_ns,
            marks: self.marks,
            starved: self.queue.completer_counters().starved,
            urgent_delay_ns: self.urgent_delay_ns,
            latency_ns: watch.latency_ns.clone(),
            held_ns: watch.held_ns.clone(),
            core_share: (self.core.busy_ns - before.busy_ns) as f64 / measured_ns,
            failed_sends: self.feed.failed_sends - before.failed_sends,
            wakeups: self.feed.wakeups - before.wakeups,
            drops: watch.drops,
            ledger: Ledger {
                entered: self.queue.sender_counters().enqueued_packets,
                freed: self.sink.freed,
                waiting,
                in_ring,
            },
        }
    }
}
