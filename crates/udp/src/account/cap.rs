//! A cap in time: no more than the measured rate moves in it.
//!
//! A limit that is learnt from completions learns the lateness of the thread that takes them, too.
//! At high rates that is most of it.

/// Time busy for one sample of the rate.
const SAMPLE_NS: u64 = 20_000_000;
/// The fastest of so many samples counts, so that a cap does not lower the rate that it is made of.
const SAMPLES: usize = 8;

/// A cap leaves so many objects: at low rates, where the cap's time is an object or two, the limit is
/// right as it is learnt, and a lower one starves whenever a thread is woken late.
const LEAST_OBJECTS: u32 = 11;

#[derive(Debug)]
pub(super) struct Cap {
    /// 0: no cap.
    cap_ns: u64,
    /// Units in each second busy.
    samples: [u64; SAMPLES],
    next: usize,
    units: u64,
    busy_ns: u64,
    /// Since when units are in flight, or when the last of them completed.
    since_ns: u64,
}

impl Cap {
    pub(super) fn new(cap_ns: u64) -> Self {
        Self {
            cap_ns,
            samples: [0; SAMPLES],
            next: 0,
            units: 0,
            busy_ns: 0,
            since_ns: 0,
        }
    }

    /// Something is sent into an empty path.
    pub(super) fn begins(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
    }

    /// Units completed, the last of them at `at_ns`.
    pub(super) fn completed(&mut self, units: u32, at_ns: u64) {
        self.units += u64::from(units);
        self.busy_ns += at_ns.saturating_sub(self.since_ns);
        self.since_ns = self.since_ns.max(at_ns);
        if self.busy_ns >= SAMPLE_NS {
            self.samples[self.next] = self.units * 1_000_000_000 / self.busy_ns;
            self.next = (self.next + 1) % SAMPLES;
            (self.units, self.busy_ns) = (0, 0);
        }
    }

    /// Units in a second, measured; 0 while nothing was.
    pub(super) fn rate(&self) -> u64 {
        self.samples.iter().copied().max().unwrap_or(0)
    }

    /// `limit` under the cap, but not below what any thread is woken in time for: eleven objects.
    pub(super) fn apply(&self, limit: u32, object: u32) -> u32 {
        let rate = self.rate();
        if self.cap_ns == 0 || rate == 0 {
            return limit;
        }
        let most = u128::from(rate) * u128::from(self.cap_ns) / 1_000_000_000;
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        limit.min(most.max(object.saturating_mul(LEAST_OBJECTS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_rate_but_leaves_eleven_objects() {
        let mut cap = Cap::new(1_000_000);
        assert_eq!(cap.apply(1_000_000, 1500), 1_000_000, "nothing measured");
        cap.begins(0);
        for round in 1..=30 {
            cap.completed(62_500, round * 1_000_000); // 500 Mbit/s
        }
        assert_eq!(cap.apply(1_000_000, 1500), 62_500);
        assert_eq!(cap.apply(5_000, 1500), 5_000, "a cap only lowers");
        for round in 0..8_000 {
            cap.completed(250, 30_000_000 + round * 1_000_000); // 2 Mbit/s
        }
        assert_eq!(cap.apply(1_000_000, 1500), 16_500);
    }

    #[test]
    fn idle_time_is_no_part_of_the_rate() {
        let mut cap = Cap::new(1_000_000);
        for burst in 0..30_u64 {
            cap.begins(burst * 1_000_000_000);
            cap.completed(62_500, burst * 1_000_000_000 + 1_000_000);
        }
        assert_eq!(cap.apply(1_000_000, 1500), 62_500);
    }
}
