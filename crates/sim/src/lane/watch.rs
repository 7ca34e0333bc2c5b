//! What is seen of a lane: a probe on the queue.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use taut_dql::Stall;
use taut_path::limit::Done;
use taut_path::queue::StopReason;
use taut_path::{DropReason, Packet, Probe};

use crate::meter::{Meter, Since, histogram};
use crate::nic::Framing;

/// Steps of a course: finer than a plot is wide.
const STEPS: u64 = 2_000;

/// The limit and what was in flight, over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Course {
    /// The limit at the start, and after each completion that changed it: (ns, bytes).
    pub limit_bytes: Vec<(u64, u32)>,
    /// The most that was in flight above the limit when a packet went to the device, in bytes.
    pub overshoot_bytes: u64,
    /// Length of a step, in ns.
    pub step_ns: u64,
    /// What was in flight in each step, from time 0.
    pub in_flight: Vec<Step>,
}

/// One step of a course.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// The most in flight, in bytes.
    pub peak_bytes: u64,
    /// Bytes times the ns for which they were in flight.
    pub byte_ns: u128,
}

/// Watches a lane.
pub(super) struct Watch<T> {
    pub(super) meter: Meter<Since>,
    pub(super) course: Course,
    pub(super) latency_ns: Histogram<u64>,
    pub(super) held_ns: Histogram<u64>,
    /// Link time of everything given to the NIC, in bytes.
    pub(super) submitted_time_bytes: u64,
    pub(super) drops: u64,
    /// Hears the same.
    also: T,
    framing: Framing,
    measure_from_ns: u64,
    in_flight_bytes: u64,
    since_ns: u64,
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
            course: Course {
                step_ns: (end_ns / STEPS).max(1),
                ..Course::default()
            },
            latency_ns: histogram(),
            held_ns: histogram(),
            submitted_time_bytes: 0,
            drops: 0,
            framing,
            measure_from_ns,
            in_flight_bytes: 0,
            since_ns: 0,
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

    /// Counts the time until `now_ns` for the bytes that were in flight, and changes them.
    pub(super) fn set_in_flight(&mut self, bytes: u64, now_ns: u64) {
        while self.since_ns < now_ns {
            let step_end_ns = (self.since_ns / self.course.step_ns + 1) * self.course.step_ns;
            let until_ns = now_ns.min(step_end_ns);
            let held_ns = u128::from(until_ns - self.since_ns);
            let (since_ns, in_flight_bytes) = (self.since_ns, self.in_flight_bytes);
            let step = self.step(since_ns);
            step.byte_ns += u128::from(in_flight_bytes) * held_ns;
            step.peak_bytes = step.peak_bytes.max(in_flight_bytes);
            self.since_ns = until_ns;
        }
        self.in_flight_bytes = bytes;
    }

    fn step(&mut self, at_ns: u64) -> &mut Step {
        // At most STEPS and a rest: nobody is watched past the end.
        let index = (at_ns / self.course.step_ns).min(2 * STEPS) as usize;
        if self.course.in_flight.len() <= index {
            self.course.in_flight.resize(index + 1, Step::default());
        }
        &mut self.course.in_flight[index]
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
        self.set_in_flight(self.in_flight_bytes + u64::from(packet.wire_bytes), now_ns);
        let limit = self
            .course
            .limit_bytes
            .last()
            .map_or(0, |&(_, limit)| limit);
        let over = self.in_flight_bytes.saturating_sub(limit.into());
        self.course.overshoot_bytes = self.course.overshoot_bytes.max(over);
        self.meter.on_sent(now_ns, packet);
    }

    fn on_completed(&mut self, now_ns: u64, done: Done) {
        self.also.on_completed(now_ns, done);
        let left = self.in_flight_bytes.saturating_sub(done.bytes.into());
        self.set_in_flight(left, now_ns);
        self.meter.on_completed(now_ns, done);
    }

    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        self.also.on_limit(now_ns, limit);
        let changes = &mut self.course.limit_bytes;
        if changes.last().is_none_or(|&(_, last)| last != limit) {
            changes.push((now_ns, limit));
        }
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
