//! How fast the device is, measured where it never paused.

/// Fraction bits of a rate in bytes per ns.
const FRACTION_BITS: u32 = 24;

/// The fastest rate that is believed, 128 bytes per ns (1 Tbit/s): together with
/// [`LONGEST_SPAN_NS`] a product stays below 2^63. A clock that steps back can show any rate.
const FASTEST: u64 = 128 << FRACTION_BITS;

/// The longest span that is turned into bytes.
const LONGEST_SPAN_NS: u64 = 4_000_000_000;

/// Intervals that make one estimate: the bytes of one are uncertain by a packet at both ends.
const INTERVALS: u32 = 8;

/// How far an estimate may be above another by chance: by a packet at both ends of so many intervals.
const CHANCE_SHIFT: u32 = 4;

/// Intervals without a sure estimate until the rate should be tried out: more of the device in flight for a few
/// of so many is not seen in a 99th percentile.
const STALE: u32 = 4_096;

/// The same before the first estimate that was sure, and after one that was far above what was known.
const STALE_FIRST: u32 = 64;

/// The rate at which the device works, in bytes per ns with 24 fraction bits; 0 is not known.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    bytes_per_ns: u64,
    bytes: u64,
    span_ns: u64,
    intervals: u32,
    /// The device may have paused in one of them.
    unsure: bool,
    /// Intervals until the rate is stale.
    fresh: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            bytes_per_ns: 0,
            bytes: 0,
            span_ns: 0,
            intervals: 0,
            unsure: false,
            fresh: STALE_FIRST,
        }
    }
}

impl Rate {
    /// An interval in which the device was busy from end to end: surely, or as far as the rate says that is
    /// known. Returns whether the estimate is new.
    #[inline]
    pub fn busy(&mut self, bytes: u64, span_ns: u64, sure: bool) -> bool {
        if sure && self.unsure {
            (self.bytes, self.span_ns, self.intervals) = (0, 0, 0);
        }
        self.unsure = !sure;
        // Bounded so that eight of them can be shifted.
        self.bytes += bytes.min(u64::from(u32::MAX));
        self.span_ns = self.span_ns.saturating_add(span_ns);
        self.intervals += 1;
        self.intervals == INTERVALS && self.estimate()
    }

    // Not inlined: what is done in most rounds stays small.
    #[inline(never)]
    fn estimate(&mut self) -> bool {
        let seen = ((self.bytes << FRACTION_BITS) / self.span_ns.max(1)).min(FASTEST);
        let (known, unsure) = (self.bytes_per_ns, self.unsure);
        let is_far_above = seen > known + (known >> CHANCE_SHIFT);
        *self = Self {
            bytes_per_ns: known,
            fresh: self.fresh,
            ..Self::default()
        };
        if !unsure {
            self.fresh = if is_far_above { STALE_FIRST } else { STALE };
        }
        // A device that paused seems slower than it is: then what it is fed is taken for what it can do, and
        // is all that it is fed. So what is not sure never makes the rate lower.
        if unsure && !is_far_above {
            return false;
        }
        self.bytes_per_ns = match known {
            0 => seen,
            known => known.midpoint(seen),
        };
        true
    }

    /// An interval in which the device may have paused.
    pub fn age(&mut self) {
        self.fresh = self.fresh.saturating_sub(1);
    }

    /// Whether it should be tried out how fast the device is: it is long since that was sure.
    pub fn is_stale(&self) -> bool {
        self.fresh == 0
    }

    /// It is being tried out.
    pub fn try_out(&mut self) {
        self.fresh = STALE;
    }

    /// Whether there is an estimate.
    pub fn is_known(&self) -> bool {
        self.bytes_per_ns > 0
    }

    /// What the device does in `span_ns`, in bytes; 0 while the rate is not known.
    pub fn bytes(&self, span_ns: u64) -> u64 {
        (self.bytes_per_ns * span_ns.min(LONGEST_SPAN_NS)) >> FRACTION_BITS
    }

    /// The same and an eighth more, for spans in which it was not watched at work.
    pub fn bytes_and_margin(&self, span_ns: u64) -> u64 {
        let bytes = self.bytes(span_ns);
        bytes + (bytes >> 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_of(bytes: u64, span_ns: u64) -> Rate {
        let mut rate = Rate::default();
        let new: [bool; INTERVALS as usize] =
            core::array::from_fn(|_| rate.busy(bytes, span_ns, true));
        assert_eq!(new, [false, false, false, false, false, false, false, true]);
        rate
    }

    #[test]
    fn a_rate_is_known_after_eight_intervals_and_follows_by_halves() {
        let mut rate = rate_of(12_500, 100_000);
        assert_eq!(
            (rate.bytes(1_000_000), rate.bytes_and_margin(80)),
            (125_000, 11)
        );
        for _ in 0..INTERVALS {
            rate.busy(125_000, 100_000, true);
        }
        assert_eq!(rate.bytes(1_000_000), 687_500);
    }

    #[test]
    fn no_rate_and_no_span_overflows() {
        // 400 Gbit/s, exactly.
        assert_eq!(
            rate_of(5_000_000, 100_000).bytes(4_000_000_000),
            200_000_000_000
        );
        // What a clock that stands still shows, for the longest time.
        let impossible = rate_of(u64::MAX, 0);
        assert_eq!(impossible.bytes(u64::MAX), 128 * LONGEST_SPAN_NS);
        assert_eq!(impossible.bytes_and_margin(8), 1_152);
        // So slow that it rounds to nothing: as good as not known.
        assert_eq!(rate_of(1, u64::MAX).bytes(u64::MAX), 0);
    }
}
