//! Where packets end, counted apart from the queue, and what was in flight meanwhile.

use std::cell::Cell;
use std::rc::Rc;

use hdrhistogram::Histogram;
use taut_linux::Frames;
use taut_measure::meter::{histogram_bytes, histogram_ns};
use taut_path::queue::Drops;
use taut_path::{DropReason, Event, Packet, PacketSink, Probe};

/// When the packet in each frame was sent, in ns: told by the queue, read where it ends.
#[derive(Debug, Clone)]
pub struct SentTimes(Rc<[Cell<u64>]>);

impl SentTimes {
    pub fn new(frames: u32) -> Self {
        Self((0..frames).map(|_| Cell::new(0)).collect())
    }

    fn of(&self, packet: &Packet) -> Option<&Cell<u64>> {
        self.0.get(packet.frame().index() as usize)
    }
}

/// The sink of the queue: gives frames back, and counts.
pub struct Ends<F> {
    frames: F,
    sent: SentTimes,
    /// The time of the round, for the latency of what it completes.
    pub now_ns: u64,
    /// Packets that came back from the device, late ones too.
    pub freed_packets: u64,
    /// Packets that came back and were never sent.
    pub stray_packets: u64,
    pub drops: Drops,
    pub latency_ns: Histogram<u64>,
    /// Since the line was shown last.
    pub recent_latency_ns: u64,
    pub recent_packets: u64,
}

impl<F: Frames> Ends<F> {
    pub fn new(frames: F, sent: SentTimes) -> Self {
        Self {
            frames,
            sent,
            now_ns: 0,
            freed_packets: 0,
            stray_packets: 0,
            drops: Drops::default(),
            latency_ns: histogram_ns(),
            recent_latency_ns: 0,
            recent_packets: 0,
        }
    }
}

impl<F: Frames> PacketSink for Ends<F> {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.freed_packets += 1;
        if let Some(sent_ns) = self.sent.of(&packet) {
            let latency_ns = self.now_ns.saturating_sub(sent_ns.get());
            self.latency_ns.saturating_record(latency_ns);
            self.recent_latency_ns += latency_ns;
            self.recent_packets += 1;
        }
        self.frames.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.drops.count(reason);
        self.frames.dropped(packet, reason);
    }

    fn stray(&mut self, packet: Packet) {
        self.stray_packets += 1;
        self.frames.stray(packet);
    }
}

/// A level and how long it held.
#[derive(Debug)]
struct Held {
    level: u64,
    since_ns: u64,
    times_ns: Histogram<u64>,
}

impl Held {
    fn new(now_ns: u64) -> Self {
        Self {
            level: 0,
            since_ns: now_ns,
            times_ns: histogram_bytes(),
        }
    }

    fn until(&mut self, now_ns: u64) {
        let held_ns = now_ns.saturating_sub(self.since_ns);
        if held_ns > 0 {
            self.times_ns.saturating_record_n(self.level, held_ns);
        }
        self.since_ns = now_ns.max(self.since_ns);
    }
}

/// Watches the queue at the price of an addition for each packet: what is in flight is weighed once a
/// round, at its most.
#[derive(Debug)]
pub struct Gauge {
    sent: SentTimes,
    in_flight: Held,
    limit: Held,
}

impl Gauge {
    pub fn new(sent: SentTimes, now_ns: u64) -> Self {
        Self {
            sent,
            in_flight: Held::new(now_ns),
            limit: Held::new(now_ns),
        }
    }

    /// Forgets what was measured until now.
    pub fn begin(&mut self, now_ns: u64) {
        for held in [&mut self.in_flight, &mut self.limit] {
            held.until(now_ns);
            held.times_ns.clear();
        }
    }

    /// Ends the measurement.
    pub fn end(&mut self, now_ns: u64) {
        self.in_flight.until(now_ns);
        self.limit.until(now_ns);
    }

    /// What was in flight for at most `share` of the time, in bytes.
    pub fn in_flight_bytes(&self, share: f64) -> u64 {
        self.in_flight.times_ns.value_at_quantile(share)
    }

    /// The median of the limit, in its units.
    pub fn limit_p50(&self) -> u64 {
        self.limit.times_ns.value_at_quantile(0.5)
    }

    pub fn in_flight_now(&self) -> u64 {
        self.in_flight.level
    }
}

impl Probe for Gauge {
    #[inline(always)]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Sent(packet) => {
                if let Some(sent_ns) = self.sent.of(packet) {
                    sent_ns.set(now_ns);
                }
                if self.in_flight.level == 0 {
                    self.in_flight.until(now_ns);
                }
                self.in_flight.level += u64::from(packet.wire_bytes());
            }
            Event::Dropped(packet, DropReason::DeviceRefused) => {
                let bytes = u64::from(packet.wire_bytes());
                self.in_flight.level = self.in_flight.level.saturating_sub(bytes);
            }
            Event::Completed(done) => {
                self.in_flight.until(now_ns);
                let left = self.in_flight.level.saturating_sub(done.bytes.into());
                self.in_flight.level = left;
            }
            Event::Reset => {
                self.in_flight.until(now_ns);
                self.in_flight.level = 0;
            }
            Event::Limit(limit) => {
                self.limit.until(now_ns);
                self.limit.level = limit.into();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_path::Frame;
    use taut_path::limit::CompletedCounts;

    #[test]
    fn in_flight_is_weighed_by_time() {
        let mut gauge = Gauge::new(SentTimes::new(4), 0);
        let packet = Packet::new(Frame::new(0), 1_000);
        gauge.event(0, Event::Sent(&packet));
        gauge.event(0, Event::Sent(&packet));
        let done = |packets, bytes| Event::Completed(CompletedCounts { packets, bytes });
        gauge.event(900, done(1, 1_000));
        gauge.event(1_000, done(1, 1_000));
        gauge.event(1_000, Event::Sent(&packet));
        gauge.event(1_000, Event::Reset);
        gauge.end(2_000);
        assert_eq!(gauge.in_flight_now(), 0);
        assert_eq!(gauge.in_flight_bytes(0.5), 0, "half of the time nothing");
        assert!((999..=1_001).contains(&gauge.in_flight_bytes(0.54)));
        assert!((1_999..=2_001).contains(&gauge.in_flight_bytes(0.9)));
    }
}
