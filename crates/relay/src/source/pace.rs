//! The times at which frames are sent.

/// Maximum lag behind the rate of a sender that could not run, in ns; a longer lag is skipped.
const BEHIND_NS: u64 = 10_000_000;

/// When frames are sent, in addition to the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Pacing {
    /// As fast as the limit permits.
    #[default]
    Unpaced,
    /// At this rate, in bit/s.
    Rate(u64),
    /// At the times of the capture, faster by this factor.
    Capture(f64),
}

/// Paces frames.
#[derive(Debug)]
pub(super) struct Pace {
    pacing: Pacing,
    /// At a rate: when the next frame is due, in ns, and the remainder of a nanosecond, in units of
    /// 1 / rate.
    due_ns: u64,
    rest: u64,
    /// Time of the first frame of a capture, later by the time that the link was down, in ns.
    start_ns: u64,
    /// Since when the link is down, in ns.
    closed_ns: Option<u64>,
    max_late_ns: u64,
}

impl Pace {
    pub fn new(pacing: Pacing) -> Self {
        Self {
            pacing,
            due_ns: 0,
            rest: 0,
            start_ns: 0,
            closed_ns: Some(0),
            max_late_ns: 0,
        }
    }

    /// Returns when the next frame, whose time in the capture is `offset_ns`, is due, in ns.
    pub fn due_ns(&self, offset_ns: u64) -> u64 {
        match self.pacing {
            Pacing::Unpaced => 0,
            Pacing::Rate(_) => self.due_ns,
            // A float is exact for offsets of up to 104 days, and saturates beyond u64.
            Pacing::Capture(speed) => {
                let offset_ns = (offset_ns as f64 / speed) as u64;
                self.start_ns.saturating_add(offset_ns)
            }
        }
    }

    /// Records that a frame of this length and time in the capture was taken. A sender that is late
    /// for a capture catches up.
    pub fn took(&mut self, bytes: usize, offset_ns: u64, now_ns: u64) {
        match self.pacing {
            Pacing::Unpaced => {}
            Pacing::Rate(rate_bits_per_s) => {
                let scaled = bytes as u128 * 8 * 1_000_000_000 + u128::from(self.rest);
                let rate = u128::from(rate_bits_per_s.max(1));
                self.rest = (scaled % rate) as u64;
                let took_ns = u64::try_from(scaled / rate).unwrap_or(u64::MAX);
                let from_ns = self.due_ns.max(now_ns.saturating_sub(BEHIND_NS));
                self.due_ns = from_ns.saturating_add(took_ns);
            }
            Pacing::Capture(_) => {
                let late_ns = now_ns.saturating_sub(self.due_ns(offset_ns));
                self.max_late_ns = self.max_late_ns.max(late_ns);
            }
        }
    }

    /// Records the state of the link. While it is down, the times of a capture do not advance.
    pub fn link_polled(&mut self, is_open: bool, now_ns: u64) {
        match (is_open, self.closed_ns) {
            (true, Some(closed_ns)) => {
                self.start_ns += now_ns - closed_ns;
                self.closed_ns = None;
            }
            (false, None) => self.closed_ns = Some(now_ns),
            _ => {}
        }
    }

    /// Returns the maximum delay of a frame after its time in the capture, in ns.
    pub fn max_late_ns(&self) -> Option<u64> {
        matches!(self.pacing, Pacing::Capture(_)).then_some(self.max_late_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_down_delays_the_times_of_a_capture() {
        let mut pace = Pace::new(Pacing::Capture(2.0));
        pace.link_polled(false, 1_000);
        pace.link_polled(true, 5_000);
        assert_eq!(pace.due_ns(3_000), 6_500);
        pace.took(60, 3_000, 7_000);
        assert_eq!(pace.max_late_ns(), Some(500));
        pace.link_polled(false, 8_000);
        pace.link_polled(false, 9_000);
        pace.link_polled(true, 18_000);
        assert_eq!(pace.due_ns(3_000), 16_500);
        let mut slow = Pace::new(Pacing::Capture(1e-3));
        slow.link_polled(true, 1);
        assert_eq!(slow.due_ns(u64::MAX), u64::MAX);
    }
}
