//! What is seen of a lane: a probe on the queue.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use taut_dql::Stall;
use taut_path::limit::Done;
use taut_path::queue::StopReason;
use taut_path::{DropReason, Packet, Probe};

use crate::course::CourseWatch;
use crate::meter::{Meter, Since, histogram};
use crate::nic::Framing;

/// Watches a lane.
pub(super) struct Watch<T> {
    pub(super) meter: Meter<Since>,
    pub(super) course: CourseWatch,
    pub(super) latency_ns: Histogram<u64>,
    pub(super) held_ns: Histogram<u64>,
    /// Link time of everything given to the NIC, in bytes.
    pub(super) submitted_time_bytes: u64,
    pub(super) drops: u64,
    /// Hears the same.
    also: T,
    framing: Framing,
    measure_from_ns: u64,
    /// When each packet between the discipline and the wire entered.
    entered_ns: VecDeque<u64>,
    /// When each packet between the wire and the reap had left.
    left_ns: VecDeque<u64>,
}

impl<T> Watch<T> {
    pub(super) fn new(framing: Framing, measure_from_ns: u64, end_ns: u64, also: T) -> Self {
        Self {
            also,
            meter: Meter::new(Since(measure_from_ns), 0, end_ns),
            course: CourseWatch::new(end_ns),
            latency_ns: histogram(),
            held_ns: histogram(),
            submitted_time_bytes: 0,
            drops: 0,
            framing,
            measure_from_ns,
            entered_ns: VecDeque::new(),
            left_ns: VecDeque::new(),
        }
    }

    /// A packet's last bit left.
    pub(super) fn on_left(&mut self, now_ns: u64) {
        if let Some(entered_ns) = self.entered_ns.pop_front()
            && now_ns >= self.measure_from_ns
        {
            self.latency_ns
                .saturating_record(now_ns.saturating_sub(entered_ns));
        }
        self.left_ns.push_back(now_ns);
    }

    /// Packets were reaped, oldest first.
    pub(super) fn on_reaped(&mut self, packets: u32, now_ns: u64) {
        for _ in 0..packets {
            let Some(left_ns) = self.left_ns.pop_front() else {
                return;
            };
            if now_ns >= self.measure_from_ns {
                self.held_ns
                    .saturating_record(now_ns.saturating_sub(left_ns));
            }
        }
    }
}

impl<T: Probe> Probe for Watch<T> {
    fn on_enqueue(&mut self, now_ns: u64, packet: &Packet) {
        self.also.on_enqueue(now_ns, packet);
        self.entered_ns.push_back(now_ns);
    }

    fn on_dequeue(&mut self, now_ns: u64, packet: &Packet) {
        self.also.on_dequeue(now_ns, packet);
    }

    fn on_drop(&mut self, now_ns: u64, packet: &Packet, reason: DropReason) {
        self.also.on_drop(now_ns, packet, reason);
        // The discipline drops at its tail: it is the packet that entered last.
        self.entered_ns.pop_back();
        self.drops += 1;
    }

    fn on_mark(&mut self, now_ns: u64, packet: &Packet) {
        self.also.on_mark(now_ns, packet);
    }

    fn on_sent(&mut self, now_ns: u64, packet: &Packet) {
        self.also.on_sent(now_ns, packet);
        self.submitted_time_bytes += self.framing.packet_time(packet).bytes;
        self.course.on_sent(now_ns, packet);
        self.meter.on_sent(now_ns, packet);
    }

    fn on_completed(&mut self, now_ns: u64, done: Done) {
        self.also.on_completed(now_ns, done);
        self.course.on_completed(now_ns, done);
        self.meter.on_completed(now_ns, done);
    }

    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        self.also.on_limit(now_ns, limit);
        self.course.on_limit(now_ns, limit);
        self.meter.on_limit(now_ns, limit);
    }

    fn on_stopped(&mut self, now_ns: u64, reason: StopReason) {
        self.also.on_stopped(now_ns, reason);
    }

    fn on_starved(&mut self, now_ns: u64) {
        self.also.on_starved(now_ns);
    }

    fn on_stall(&mut self, now_ns: u64, stall: Stall) {
        self.also.on_stall(now_ns, stall);
    }

    fn on_reset(&mut self, now_ns: u64) {
        self.also.on_reset(now_ns);
    }
}
