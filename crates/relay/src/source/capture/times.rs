//! Timestamps of a capture, as the time after its first packet.

/// A time this much earlier than the latest is a step of the clock, in ns; packets of several
/// queues are reordered by less.
const STEP_BACK_NS: i128 = 1_000_000_000;
/// A gap longer than this is a step of the clock, in ns: a day.
const STEP_FORWARD_NS: i128 = 86_400_000_000_000;

/// Converts timestamps to offsets. A packet older than an earlier one has the offset of that.
#[derive(Debug, Default)]
pub(super) struct Times {
    latest_ns: Option<i128>,
    offset_ns: u64,
    /// Steps of the clock that were skipped.
    pub steps: u64,
}

impl Times {
    /// Returns the offset of the next packet, in ns; the previous offset without a timestamp.
    pub fn offset_ns(&mut self, time_ns: Option<i128>) -> u64 {
        let Some(time_ns) = time_ns else {
            return self.offset_ns;
        };
        let gap_ns = time_ns - self.latest_ns.unwrap_or(time_ns);
        if !(-STEP_BACK_NS..=STEP_FORWARD_NS).contains(&gap_ns) {
            self.steps += 1;
            self.latest_ns = Some(time_ns);
        } else if gap_ns >= 0 {
            self.latest_ns = Some(time_ns);
            self.offset_ns = self.offset_ns.saturating_add(gap_ns as u64);
        }
        self.offset_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_clock_are_skipped() {
        let second = 1_000_000_000;
        let mut times = Times::default();
        let offsets = [
            (Some(100 * second), 0),
            (None, 0),
            (Some(102 * second), 2),
            // Reordered, then on time.
            (Some(102 * second - 1), 2),
            (Some(103 * second), 3),
            // The clock is set back, and later forward by years.
            (Some(50 * second), 3),
            (Some(51 * second), 4),
            (Some(1_700_000_000 * second), 4),
            (Some(1_700_000_001 * second), 5),
            (Some(-1_700_000_001 * second), 5),
        ];
        for (time_ns, seconds) in offsets {
            let offset_ns = times.offset_ns(time_ns);
            assert_eq!(offset_ns, seconds * 1_000_000_000, "{time_ns:?}");
        }
        assert_eq!(times.steps, 3);
    }
}
