//! A probe that measures the bytes in flight and the backlog, weighted by time, in virtual time and
//! on live queues.

mod level;

use taut_path::{DropReason, Event, Probe};

pub use level::{Level, Quantiles, Since, Window, histogram_bytes, histogram_ns};

/// Points of a row's curve: the width of a terminal minus the label.
pub const CURVE_POINTS: usize = 64;

/// Two values over the time of a row, in [`CURVE_POINTS`] steps.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Maximum bytes in the ring of each step.
    pub in_flight_bytes: Vec<u64>,
    /// The limit at the end of each step, in the limit's units.
    pub limit: Vec<u64>,
}

/// A probe that measures one queue.
pub struct Meter<W> {
    window: W,
    in_flight_bytes: Level,
    backlog_packets: Level,
    limit: Level,
    /// Time of the last report of an unchanged limit, in ns.
    limit_stood_ns: u64,
    curve: Curve,
    step_ns: u64,
    /// End of the current step of the curve, in ns.
    step_ends_ns: u64,
    /// Maximum bytes in the ring of that step.
    step_peak_bytes: u64,
}

impl<W: Window> Meter<W> {
    /// Creates a meter for a queue that starts at `start_ns` and is measured for `length_ns`.
    pub fn new(window: W, start_ns: u64, length_ns: u64) -> Self {
        let level = || Level::new(start_ns, &window);
        Self {
            in_flight_bytes: level(),
            backlog_packets: level(),
            limit: level(),
            limit_stood_ns: start_ns,
            curve: Curve::default(),
            step_ns: (length_ns / CURVE_POINTS as u64).max(1),
            step_ends_ns: start_ns,
            step_peak_bytes: 0,
            window,
        }
    }

    /// Returns the bytes in the ring: queued minus reported.
    pub fn in_flight_bytes(&self) -> &Level {
        &self.in_flight_bytes
    }

    /// Returns the packets queued in the discipline.
    pub fn backlog_packets(&self) -> &Level {
        &self.backlog_packets
    }

    /// Returns the median of the limit over the measured time.
    pub fn limit_p50(&self) -> u64 {
        let mut limit = self.limit.clone();
        limit.change(limit.now, self.limit_stood_ns, &self.window);
        limit.at_share(0.5)
    }

    /// Returns both over time.
    pub fn curve(&self) -> Curve {
        let mut curve = self.curve.clone();
        if let Some(point) = curve.in_flight_bytes.last_mut() {
            *point = self.step_peak_bytes;
        }
        curve
    }

    #[inline]
    fn set_waiting(&mut self, packets: u64, now_ns: u64) {
        self.backlog_packets.change(packets, now_ns, &self.window);
    }

    #[inline]
    fn raise_in_flight(&mut self, by_bytes: u64, now_ns: u64) {
        let bytes = self.in_flight_bytes.now + by_bytes;
        self.set_in_flight(bytes, now_ns);
        self.step_peak_bytes = self.step_peak_bytes.max(bytes);
    }

    #[inline]
    fn lower_in_flight(&mut self, by_bytes: u64, now_ns: u64) {
        let bytes = self.in_flight_bytes.now.saturating_sub(by_bytes);
        self.set_in_flight(bytes, now_ns);
    }

    #[inline]
    fn set_in_flight(&mut self, bytes: u64, now_ns: u64) {
        self.in_flight_bytes.change(bytes, now_ns, &self.window);
        self.window.in_flight_changed(bytes);
        if now_ns >= self.step_ends_ns {
            self.begin_steps(now_ns);
        }
    }

    /// Starts the steps of the curve up to that of `now_ns`, with the current content of the ring.
    #[cold]
    fn begin_steps(&mut self, now_ns: u64) {
        while now_ns >= self.step_ends_ns {
            if self.curve.in_flight_bytes.len() == CURVE_POINTS {
                // The last step includes all later events.
                self.step_ends_ns = u64::MAX;
                break;
            }
            if let Some(point) = self.curve.in_flight_bytes.last_mut() {
                *point = self.step_peak_bytes;
            }
            self.curve.in_flight_bytes.push(0);
            self.step_peak_bytes = 0;
            self.curve.limit.push(self.limit.now);
            self.step_ends_ns = self.step_ends_ns.saturating_add(self.step_ns);
        }
        self.step_peak_bytes = self.step_peak_bytes.max(self.in_flight_bytes.now);
    }

    #[inline]
    fn set_limit(&mut self, limit: u32, now_ns: u64) {
        // Reported in each batch and mostly unchanged: added on a change, or at the end.
        if W::STEADY && self.limit.now == u64::from(limit) {
            self.limit_stood_ns = now_ns;
            return;
        }
        self.limit.change(limit.into(), now_ns, &self.window);
        if let Some(point) = self.curve.limit.last_mut() {
            *point = limit.into();
        }
    }
}

impl<W: Window> Probe for Meter<W> {
    // Inlined: the event is constant at each call site, so only one arm remains.
    #[inline(always)]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        let waiting = self.backlog_packets.now;
        match event {
            Event::Enqueued(_) | Event::Requeued(_) => self.set_waiting(waiting + 1, now_ns),
            // The packet was already dequeued.
            Event::Dropped(_, DropReason::Uncountable) => {}
            Event::Dropped(packet, DropReason::DeviceRefused) => {
                self.lower_in_flight(packet.wire_bytes().into(), now_ns);
            }
            Event::Dequeued(_) | Event::Dropped(..) => {
                self.set_waiting(waiting.saturating_sub(1), now_ns);
            }
            Event::Sent(packet) => self.raise_in_flight(packet.wire_bytes().into(), now_ns),
            Event::Completed(done) => self.lower_in_flight(done.bytes.into(), now_ns),
            Event::Limit(limit) => self.set_limit(limit, now_ns),
            // Packets in flight are stale and are never reported as completed.
            Event::Reset => self.set_in_flight(0, now_ns),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_path::limit::CompletedCounts;
    use taut_path::{Frame, Packet};

    use super::*;

    #[test]
    fn in_flight_is_time_weighted_and_reset() {
        let mut meter = Meter::new(Since(0), 0, 2_000);
        let packet = Packet::new(Frame::new(0), 1_000);
        let done = Event::Completed(CompletedCounts {
            packets: 1,
            bytes: 1_000,
        });
        meter.event(0, Event::Sent(&packet));
        meter.event(0, Event::Sent(&packet));
        meter.event(900, done);
        meter.event(1_000, done);
        meter.event(1_000, Event::Sent(&packet));
        meter.event(1_000, Event::Reset);
        assert_eq!(meter.in_flight_bytes().now, 0);
        meter.event(2_000, Event::Sent(&packet));
        assert_eq!(
            meter.in_flight_bytes().at_share(0.5),
            0,
            "empty for half of the time"
        );
        assert_eq!(meter.in_flight_bytes().at_share(0.54), 1_000);
        assert_eq!(meter.in_flight_bytes().at_share(0.9), 2_000);
    }

    #[test]
    fn backlog_counts_in_the_measured_time() {
        let mut meter = Meter::new(Since(100), 0, 1_000);
        let packet = Packet::new(Frame::new(0), 1_000);
        for at_ns in [40, 150] {
            meter.event(at_ns, Event::Enqueued(&packet));
        }
        assert_eq!(meter.backlog_packets().now, 2);
        meter.event(180, Event::Dequeued(&packet));
        let _ = packet.into_frame();
        // One packet for 50 ns, then two for 30 ns.
        assert_eq!(meter.backlog_packets().sum(), 110);
    }
}
