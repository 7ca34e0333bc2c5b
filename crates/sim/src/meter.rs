//! A probe that measures what was in the ring and what waited for it, weighted by time: the same for
//! a queue in virtual time and for a live one.

use hdrhistogram::Histogram;
use taut_path::{DropReason, Event, Probe};

/// Values are exact to a thousandth.
const DIGITS: u8 = 3;

/// Larger values count as this one: more bytes than a limit can hold, and 2.1 s in ns.
const LARGEST: u64 = u32::MAX as u64 / 2;

/// An empty histogram for bytes or nanoseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LARGEST, DIGITS).expect("constants that are allowed")
}

/// Points of a row's curve: the width of a terminal, less its label.
pub const CURVE_POINTS: usize = 64;

/// Which part of the time is measured.
pub trait Window {
    /// How much of the time from `since_ns` to `now_ns` is measured, in ns.
    fn measured_ns(&self, since_ns: u64, now_ns: u64) -> u64;

    /// Hears the bytes in the ring whenever they change.
    fn in_flight_changed(&mut self, _bytes: u64) {}
}

/// Everything from one time on, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since(pub u64);

impl Window for Since {
    fn measured_ns(&self, since_ns: u64, now_ns: u64) -> u64 {
        now_ns.saturating_sub(since_ns.max(self.0))
    }
}

/// A value that holds for some time, and how long it held.
pub struct Level {
    /// The value now.
    pub now: u64,
    since_ns: u64,
    held_ns: Histogram<u64>,
    /// The value times the time that it was measured for.
    sum: u128,
    measured_ns: u64,
}

impl Level {
    /// 0 from `now_ns` on.
    pub fn new(now_ns: u64) -> Self {
        Self {
            now: 0,
            since_ns: now_ns,
            held_ns: histogram(),
            sum: 0,
            measured_ns: 0,
        }
    }

    /// Counts the time until `now_ns` for the value that held, and changes it.
    pub fn change(&mut self, to: u64, now_ns: u64, window: &impl Window) {
        let held_ns = window.measured_ns(self.since_ns, now_ns);
        if held_ns > 0 {
            self.held_ns.saturating_record_n(self.now, held_ns);
            self.sum += u128::from(self.now) * u128::from(held_ns);
            self.measured_ns += held_ns;
        }
        self.now = to;
        self.since_ns = self.since_ns.max(now_ns);
    }

    /// Its quantiles over the measured time.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            p10: self.held_ns.value_at_quantile(0.1),
            p50: self.held_ns.value_at_quantile(0.5),
            p90: self.held_ns.value_at_quantile(0.9),
            max: self.held_ns.max(),
        }
    }

    /// Its mean over the measured time, rounded down.
    pub fn mean(&self) -> u64 {
        (self.sum / u128::from(self.measured_ns.max(1))) as u64
    }
}

/// The course of two values over a row, in [`CURVE_POINTS`] steps.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// The largest value of bytes in the ring in each step.
    pub in_flight_bytes: Vec<u64>,
    /// The limit at the end of each step, in the limit's units.
    pub limit: Vec<u64>,
}

/// Quantiles over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quantiles {
    /// A tenth of the time it was at most this.
    pub p10: u64,
    /// Half of the time.
    pub p50: u64,
    /// Nine tenths of the time.
    pub p90: u64,
    /// Always.
    pub max: u64,
}

/// Watches one queue.
pub struct Meter<W> {
    window: W,
    in_flight_bytes: Level,
    waiting_packets: Level,
    limit: Level,
    curve: Curve,
    start_ns: u64,
    step_ns: u64,
}

impl<W: Window> Meter<W> {
    /// A meter for a queue that starts at `start_ns` and is watched for `length_ns`.
    pub fn new(window: W, start_ns: u64, length_ns: u64) -> Self {
        Self {
            window,
            in_flight_bytes: Level::new(start_ns),
            waiting_packets: Level::new(start_ns),
            limit: Level::new(start_ns),
            curve: Curve::default(),
            start_ns,
            step_ns: (length_ns / CURVE_POINTS as u64).max(1),
        }
    }

    /// Bytes in the ring over the measured time: queued minus reported.
    pub fn in_flight_bytes(&self) -> Quantiles {
        self.in_flight_bytes.quantiles()
    }

    /// Packets waiting in the discipline over the measured time.
    pub fn waiting_packets(&self) -> Quantiles {
        self.waiting_packets.quantiles()
    }

    /// The least number of bytes that were not exceeded for `share` (0 to 1) of the measured time.
    pub fn in_flight_at_bytes(&self, share: f64) -> u64 {
        self.in_flight_bytes.held_ns.value_at_quantile(share)
    }

    /// Their mean.
    pub fn in_flight_mean_bytes(&self) -> u64 {
        self.in_flight_bytes.mean()
    }

    /// Median of the limit over the measured time.
    pub fn limit_p50(&self) -> u64 {
        self.limit.held_ns.value_at_quantile(0.5)
    }

    /// The course of both.
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    fn set_waiting(&mut self, packets: u64, now_ns: u64) {
        self.waiting_packets.change(packets, now_ns, &self.window);
    }

    fn set_in_flight(&mut self, bytes: u64, now_ns: u64) {
        self.in_flight_bytes.change(bytes, now_ns, &self.window);
        self.window.in_flight_changed(bytes);
        let step = (now_ns.saturating_sub(self.start_ns) / self.step_ns) as usize;
        while self.curve.in_flight_bytes.len() <= step.min(CURVE_POINTS - 1) {
            self.curve.in_flight_bytes.push(0);
            self.curve.limit.push(self.limit.now);
        }
        if let Some(point) = self.curve.in_flight_bytes.last_mut() {
            *point = bytes.max(*point);
        }
    }

    fn set_limit(&mut self, limit: u32, now_ns: u64) {
        self.limit.change(limit.into(), now_ns, &self.window);
        if let Some(point) = self.curve.limit.last_mut() {
            *point = limit.into();
        }
    }
}

impl<W: Window> Probe for Meter<W> {
    // Always: the queue knows which event it tells of, and then all but one arm is gone.
    #[inline(always)]
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        let (waiting, in_flight) = (self.waiting_packets.now, self.in_flight_bytes.now);
        match event {
            Event::Enqueued(_) => self.set_waiting(waiting + 1, now_ns),
            // It was found to be so after it left the discipline.
            Event::Dropped(_, DropReason::Uncountable) => {}
            Event::Dropped(packet, DropReason::DeviceRefused) => {
                let bytes = u64::from(packet.wire_bytes());
                self.set_in_flight(in_flight.saturating_sub(bytes), now_ns);
            }
            Event::Dequeued(_) | Event::Dropped(..) => {
                self.set_waiting(waiting.saturating_sub(1), now_ns);
            }
            Event::Sent(packet) => {
                self.set_in_flight(in_flight + u64::from(packet.wire_bytes()), now_ns);
            }
            Event::Completed(done) => {
                self.set_in_flight(in_flight.saturating_sub(done.bytes.into()), now_ns);
            }
            Event::Limit(limit) => self.set_limit(limit, now_ns),
            _ => {}
        }
    }
}
