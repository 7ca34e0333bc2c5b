//! Measurements over all queues of a device.

use std::mem::replace;

use super::MultiQueueReport;
use crate::nic::WireWatch;
use crate::time_series::{TimeSeriesRecorder, note_change};

/// Measures all queues together.
#[derive(Default)]
pub(super) struct MultiQueueWatch {
    in_flight_bytes: u64,
    /// Present once the measurement has started.
    measured: Option<Measured>,
}

/// Results of the measured time.
struct Measured {
    from_ns: u64,
    /// Threshold of `above_ns`, in bytes.
    mark_bytes: u64,
    since_ns: u64,
    recorder: TimeSeriesRecorder,
    seen: MultiQueueReport,
}

impl MultiQueueWatch {
    /// Starts the measurement, which lasts `length_ns`.
    pub(super) fn begin(&mut self, now_ns: u64, length_ns: u64, mark_bytes: u64) {
        let mut recorder = TimeSeriesRecorder::new(length_ns);
        recorder.change(self.in_flight_bytes, 0);
        self.measured = Some(Measured {
            from_ns: now_ns,
            mark_bytes,
            since_ns: now_ns,
            recorder,
            seen: MultiQueueReport {
                peak_bytes: self.in_flight_bytes,
                ..MultiQueueReport::default()
            },
        });
    }

    fn change(&mut self, to_bytes: u64, now_ns: u64) {
        let before_bytes = replace(&mut self.in_flight_bytes, to_bytes);
        if let Some(measured) = &mut self.measured {
            measured.hold_until(now_ns, before_bytes);
            measured
                .recorder
                .change(to_bytes, now_ns - measured.from_ns);
            measured.seen.peak_bytes = measured.seen.peak_bytes.max(to_bytes);
        }
    }

    /// Records the current limit of the budget.
    pub(super) fn note_budget(&mut self, limit_bytes: u32, now_ns: u64) {
        if let Some(Measured { from_ns, seen, .. }) = &mut self.measured {
            note_change(&mut seen.budget, now_ns - *from_ns, limit_bytes);
        }
    }

    /// Returns the measured results until `now_ns`.
    pub(super) fn end(&mut self, now_ns: u64) -> MultiQueueReport {
        self.change(self.in_flight_bytes, now_ns);
        self.measured
            .take()
            .map_or_else(MultiQueueReport::default, Measured::seen)
    }
}

impl Measured {
    fn hold_until(&mut self, now_ns: u64, bytes: u64) {
        let held_ns = now_ns - replace(&mut self.since_ns, now_ns);
        if bytes > self.mark_bytes {
            self.seen.above_ns += held_ns;
        }
    }

    fn seen(self) -> MultiQueueReport {
        let series = self.recorder.series();
        let steps = series.in_flight.iter();
        let at_ns = (0..).map(|step| step * series.step_ns);
        MultiQueueReport {
            byte_ns: steps.clone().map(|step| step.byte_ns).sum(),
            samples: at_ns.zip(steps.map(|step| step.peak_bytes)).collect(),
            ..self.seen
        }
    }
}

impl WireWatch for MultiQueueWatch {
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
    fn bytes_in_flight_count_in_samples_without_changes() {
        let mut watch = MultiQueueWatch::default();
        watch.change(900, 40);
        // Samples of 2 ns.
        watch.begin(100, 4_000, 1_000);
        for (at_ns, bytes) in [(102, 1_000), (103, 1_001), (105, 0)] {
            watch.change(bytes, at_ns);
        }
        watch.note_budget(50, 104);
        watch.note_budget(50, 105);
        let seen = watch.end(107);
        assert_eq!(seen.samples, [(0, 900), (2, 1_001), (4, 1_001), (6, 0)]);
        assert_eq!(seen.byte_ns, 900 * 2 + 1_000 + 1_001 * 2);
        assert_eq!(
            (seen.peak_bytes, seen.above_ns),
            (1_001, 2),
            "the mark itself is not above it"
        );
        assert_eq!(seen.budget, [(4, 50)]);
    }

    #[test]
    fn initial_bytes_in_flight_count_for_the_peak() {
        let mut watch = MultiQueueWatch::default();
        watch.change(900, 40);
        watch.begin(100, 2_000, 1_000);
        watch.change(0, 102);
        assert_eq!(watch.end(107).peak_bytes, 900);
    }
}
