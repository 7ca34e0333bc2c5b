//! Time series of a queue's limit and bytes in flight.

use taut_path::{Event, Packet, Probe};

use crate::nic::WireWatch;

/// Samples of a time series: finer than the width of a plot.
const STEPS: u64 = 2_000;

/// Appends `value` to a list of changes, (ns, value), if it differs from the last value.
pub fn note_change(changes: &mut Vec<(u64, u32)>, now_ns: u64, value: u32) {
    if changes.last().is_none_or(|&(_, last)| last != value) {
        changes.push((now_ns, value));
    }
}

/// The limit and the bytes in flight over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeSeries {
    /// The limit at the start, and after each completion that changed it: (ns, bytes).
    pub limit_bytes: Vec<(u64, u32)>,
    /// Largest excess of the bytes in flight over the limit when the queue sent a packet, in bytes.
    pub overshoot_bytes: u64,
    /// Size of the largest packet that the queue sent, in bytes.
    pub largest_object_bytes: u64,
    /// Length of a sample, in ns.
    pub step_ns: u64,
    /// Bytes in flight of each sample, from the start.
    pub in_flight: Vec<Sample>,
}

/// One sample of a time series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Maximum bytes in flight.
    pub peak_bytes: u64,
    /// Bytes times the ns for which they were in flight.
    pub byte_ns: u128,
}

/// Records the time series of a queue, or of all queues of a NIC. Recorded times are relative to
/// its start.
#[derive(Debug)]
pub struct TimeSeriesRecorder {
    series: TimeSeries,
    in_flight_bytes: u64,
    start_ns: u64,
    /// Time from the start until which the series is complete, in ns.
    since_ns: u64,
}

impl TimeSeriesRecorder {
    /// Creates a recorder for the time from 0 to `end_ns`.
    pub fn new(end_ns: u64) -> Self {
        Self {
            series: TimeSeries {
                step_ns: (end_ns / STEPS).max(1),
                ..TimeSeries::default()
            },
            in_flight_bytes: 0,
            start_ns: 0,
            since_ns: 0,
        }
    }

    /// Starts again at `now_ns`, for `length_ns`, with the current bytes in flight.
    pub(crate) fn restart(&mut self, now_ns: u64, length_ns: u64) {
        *self = Self {
            in_flight_bytes: self.in_flight_bytes,
            start_ns: now_ns,
            ..Self::new(length_ns)
        };
    }

    /// Adds the time until `now_ns` with the current bytes in flight.
    pub fn count_until(&mut self, now_ns: u64) {
        let now_ns = now_ns - self.start_ns;
        while self.since_ns < now_ns {
            let in_step_ns = self.since_ns % self.series.step_ns;
            let step_end_ns = (self.since_ns - in_step_ns).saturating_add(self.series.step_ns);
            let until_ns = now_ns.min(step_end_ns);
            let held_ns = u128::from(until_ns - self.since_ns);
            let (since_ns, in_flight_bytes) = (self.since_ns, self.in_flight_bytes);
            let step = self.step(since_ns);
            step.byte_ns += u128::from(in_flight_bytes) * held_ns;
            step.peak_bytes = step.peak_bytes.max(in_flight_bytes);
            self.since_ns = until_ns;
        }
    }

    /// Returns the time series so far.
    pub fn series(&self) -> &TimeSeries {
        &self.series
    }

    fn step(&mut self, at_ns: u64) -> &mut Sample {
        // At most `STEPS` and a remainder: recording ends at `end_ns`.
        let index = (at_ns / self.series.step_ns).min(2 * STEPS) as usize;
        if self.series.in_flight.len() <= index {
            self.series.in_flight.resize(index + 1, Sample::default());
        }
        &mut self.series.in_flight[index]
    }

    /// Records the limit from `now_ns` on.
    pub(crate) fn note_limit(&mut self, limit: u32, now_ns: u64) {
        note_change(&mut self.series.limit_bytes, now_ns - self.start_ns, limit);
    }

    /// Sets the bytes in flight from `now_ns` on.
    fn change(&mut self, to_bytes: u64, now_ns: u64) {
        self.count_until(now_ns);
        self.in_flight_bytes = to_bytes;
    }

    fn sent(&mut self, now_ns: u64, packet: &Packet) {
        let bytes = u64::from(packet.wire_bytes());
        self.change(self.in_flight_bytes + bytes, now_ns);
        let limit = self.series.limit_bytes.last();
        let limit = limit.map_or(0, |&(_, limit)| u64::from(limit));
        let over = self.in_flight_bytes.saturating_sub(limit);
        self.series.overshoot_bytes = self.series.overshoot_bytes.max(over);
        self.series.largest_object_bytes = self.series.largest_object_bytes.max(bytes);
    }
}

impl Probe for TimeSeriesRecorder {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Sent(packet) => self.sent(now_ns, packet),
            Event::Completed(done) => {
                let left_bytes = self.in_flight_bytes.saturating_sub(done.bytes.into());
                self.change(left_bytes, now_ns);
            }
            Event::Limit(limit) => self.note_limit(limit, now_ns),
            _ => {}
        }
    }
}

impl WireWatch for TimeSeriesRecorder {
    fn submitted(&mut self, bytes: u32, now_ns: u64) {
        self.change(self.in_flight_bytes + u64::from(bytes), now_ns);
    }

    fn reported(&mut self, bytes: u64, now_ns: u64) {
        self.change(self.in_flight_bytes.saturating_sub(bytes), now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_keeps_the_bytes_in_flight_and_counts_from_its_time() {
        let mut watch = TimeSeriesRecorder::new(u64::MAX);
        watch.note_limit(50, 30);
        watch.submitted(900, 40);
        // Samples of 2 ns.
        watch.restart(100, 4_000);
        watch.submitted(100, 102);
        watch.submitted(1, 103);
        watch.note_limit(50, 104);
        watch.reported(1_001, 105);
        watch.note_limit(50, 105);
        watch.count_until(107);
        let seen = watch.series();
        let sample = |peak_bytes, byte_ns| Sample {
            peak_bytes,
            byte_ns,
        };
        assert_eq!(
            seen.in_flight,
            [
                sample(900, 900 * 2),
                sample(1_001, 1_000 + 1_001),
                sample(1_001, 1_001),
                sample(0, 0)
            ]
        );
        assert_eq!((seen.step_ns, &seen.limit_bytes[..]), (2, &[(4, 50)][..]));
    }

    #[test]
    fn longest_time_series_ends() {
        let mut watch = TimeSeriesRecorder::new(u64::MAX);
        watch.change(7, 5);
        watch.count_until(u64::MAX);
        let steps = &watch.series().in_flight;
        let byte_ns: u128 = steps.iter().map(|step| step.byte_ns).sum();
        assert_eq!(byte_ns, 7 * u128::from(u64::MAX - 5));
        assert_eq!(steps.len() as u64, STEPS + 1, "and a remainder");
    }
}
