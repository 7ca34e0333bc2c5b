//! The limit of a queue and what was in flight, over time.

use taut_path::{Event, Packet, Probe};

/// Steps of a course: finer than a plot is wide.
const STEPS: u64 = 2_000;

/// How long a step of a course over `span_ns` is, in ns.
fn step_ns(span_ns: u64) -> u64 {
    (span_ns / STEPS).max(1)
}

/// Keeps `value` in a list of changes, (ns, value), if it is another than the last.
pub fn note_change(changes: &mut Vec<(u64, u32)>, now_ns: u64, value: u32) {
    if changes.last().is_none_or(|&(_, last)| last != value) {
        changes.push((now_ns, value));
    }
}

/// The limit and what was in flight, over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeSeries {
    /// The limit at the start, and after each completion that changed it: (ns, bytes).
    pub limit_bytes: Vec<(u64, u32)>,
    /// The most that was in flight above the limit when a packet went to the device, in bytes.
    pub overshoot_bytes: u64,
    /// Length of a step, in ns.
    pub step_ns: u64,
    /// What was in flight in each step, from time 0.
    pub in_flight: Vec<Sample>,
}

/// One step of a course.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// The most in flight, in bytes.
    pub peak_bytes: u64,
    /// Bytes times the ns for which they were in flight.
    pub byte_ns: u128,
}

/// Writes down the course of a queue.
#[derive(Debug)]
pub struct TimeSeriesRecorder {
    course: TimeSeries,
    in_flight_bytes: u64,
    since_ns: u64,
}

impl TimeSeriesRecorder {
    /// For a queue that is watched from time 0 to `end_ns`.
    pub fn new(end_ns: u64) -> Self {
        Self {
            course: TimeSeries {
                step_ns: step_ns(end_ns),
                ..TimeSeries::default()
            },
            in_flight_bytes: 0,
            since_ns: 0,
        }
    }

    /// Counts the time until `now_ns` for what was in flight.
    pub fn count_until(&mut self, now_ns: u64) {
        while self.since_ns < now_ns {
            let in_step_ns = self.since_ns % self.course.step_ns;
            let step_end_ns = (self.since_ns - in_step_ns).saturating_add(self.course.step_ns);
            let until_ns = now_ns.min(step_end_ns);
            let held_ns = u128::from(until_ns - self.since_ns);
            let (since_ns, in_flight_bytes) = (self.since_ns, self.in_flight_bytes);
            let step = self.step(since_ns);
            step.byte_ns += u128::from(in_flight_bytes) * held_ns;
            step.peak_bytes = step.peak_bytes.max(in_flight_bytes);
            self.since_ns = until_ns;
        }
    }

    /// The course so far.
    pub fn course(&self) -> &TimeSeries {
        &self.course
    }

    fn step(&mut self, at_ns: u64) -> &mut Sample {
        // At most STEPS and a rest: nobody is watched past the end.
        let index = (at_ns / self.course.step_ns).min(2 * STEPS) as usize;
        if self.course.in_flight.len() <= index {
            self.course.in_flight.resize(index + 1, Sample::default());
        }
        &mut self.course.in_flight[index]
    }

    /// So much is in flight from `now_ns` on.
    pub(crate) fn change(&mut self, to_bytes: u64, now_ns: u64) {
        self.count_until(now_ns);
        self.in_flight_bytes = to_bytes;
    }

    fn sent(&mut self, now_ns: u64, packet: &Packet) {
        let bytes = u64::from(packet.wire_bytes());
        self.change(self.in_flight_bytes + bytes, now_ns);
        let limit = self.course.limit_bytes.last();
        let limit = limit.map_or(0, |&(_, limit)| u64::from(limit));
        let over = self.in_flight_bytes.saturating_sub(limit);
        self.course.overshoot_bytes = self.course.overshoot_bytes.max(over);
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
            Event::Limit(limit) => note_change(&mut self.course.limit_bytes, now_ns, limit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_as_long_as_time_ends() {
        let mut watch = TimeSeriesRecorder::new(u64::MAX);
        watch.change(7, 5);
        watch.count_until(u64::MAX);
        let steps = &watch.course().in_flight;
        let byte_ns: u128 = steps.iter().map(|step| step.byte_ns).sum();
        assert_eq!(byte_ns, 7 * u128::from(u64::MAX - 5));
        assert_eq!(steps.len() as u64, STEPS + 1, "and a rest");
    }
}
