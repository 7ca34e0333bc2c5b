//! Samples and results of a bench.

use std::mem::take;

use taut_path::Probe;

use super::run::{Before, BenchTestbed, QUEUE, SingleQueueBench};
use super::{Observed, PacketLedger};
use crate::nic::{WireCounters, link_ns};

impl<T: Probe> SingleQueueBench<'_, T> {
    pub(super) fn plan_sample(&mut self) {
        let period_ns = self.config.sample_ns;
        if period_ns == 0 {
            return;
        }
        let from_ns = self.samples.saturating_mul(period_ns);
        self.sample_ns = (self.config.measure_from_ns.saturating_add(from_ns))
            .saturating_add(self.feed.rng.below(period_ns));
        self.samples += 1;
    }

    /// Samples the delay of a packet of high priority.
    pub(super) fn on_sample(&mut self, bed: &mut BenchTestbed) {
        self.urgent.came_ns.push(bed.now_ns);
        if !self.queue.stopped_by_stack() && !self.queue.stopped_by_driver() {
            self.admit_urgent(bed);
        }
        self.plan_sample();
    }

    /// Records the delays of the packets that waited for room and go behind the unsent packets.
    pub(super) fn admit_urgent(&mut self, bed: &mut BenchTestbed) {
        let submitted = self.queue.probe().1.submitted_time_bytes;
        let nic = bed.nic.borrow();
        let ahead = submitted.saturating_sub(nic.counters(QUEUE).time_bytes);
        self.urgent
            .admit(bed.now_ns, link_ns(ahead, nic.rate_bits_per_s()));
    }

    pub(super) fn observed(mut self, mut bed: BenchTestbed, before: &Before) -> Observed {
        let end_ns = self.config.end_ns;
        let mut nic = bed.nic.borrow_mut();
        let now = nic.counters(QUEUE);
        let marks = [(0, WireCounters::default())].into_iter();
        let marks = marks.chain(take(&mut bed.marks)).chain([(end_ns, now)]);
        let queue = &mut self.queue;
        let watch = &mut queue.probe_mut().1;
        for left_ns in nic.watch.oldest_ns.drain(..) {
            watch.on_left(left_ns);
        }
        watch.series.count_until(end_ns);
        let wire = WireCounters {
            packets: now.packets - before.wire.packets,
            frames: now.frames - before.wire.frames,
            time_bytes: now.time_bytes - before.wire.time_bytes,
            interrupts: now.interrupts - before.wire.interrupts,
        };
        let measured_ns = end_ns.saturating_sub(self.config.measure_from_ns).max(1) as f64;
        let rate_bits_per_s = nic.rate_bits_per_s() as f64;
        let (watch, sender) = (&queue.probe().1, queue.sender_counters());
        Observed {
            in_flight_bytes: watch.meter.in_flight_bytes().quantiles(),
            in_flight_p99_bytes: watch.meter.in_flight_bytes().at_share(0.99),
            in_flight_mean_bytes: watch.meter.in_flight_bytes().mean(),
            limit_bytes: queue.snapshot().limit,
            series: watch.series.series().clone(),
            wire,
            utilisation: wire.time_bytes as f64 * 8e9 / rate_bits_per_s / measured_ns,
            marks: marks.collect(),
            starved: queue.completer_counters().starved,
            urgent_delay_ns: self.urgent.delay_ns.clone(),
            latency_ns: watch.latency_ns.clone(),
            held_ns: watch.held_ns.clone(),
            core_share: (bed.core.busy_ns - before.busy_ns) as f64 / measured_ns,
            failed_sends: self.feed.failed_sends - before.failed_sends,
            wakeups: self.feed.wakeups - before.wakeups,
            drops: sender.drops.total(),
            ledger: PacketLedger {
                entered: sender.enqueued_packets,
                freed: bed.sink.freed,
                waiting: queue.backlog().packets,
                in_ring: nic.packets_in_rings() as u64,
            },
        }
    }
}
