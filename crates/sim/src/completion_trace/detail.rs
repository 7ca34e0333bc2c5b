//! Queue settings and measurement detail of a trace run.

/// Slots of the ring where only the ring limits the queue: those of the two 10G cards of the
/// published experiments.
pub const RING_SLOTS_OFF: u32 = 4_096;

/// Slots that no limit in the estimator's range fills with packets of a usual size. It also bounds
/// the memory for packets of a few bytes under a growing limit.
const RING_SLOTS_LIMITED: u32 = 1 << 22;

/// Queue settings and measurement detail of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Slots of each ring.
    pub slots: u32,
    /// Coalescing interval of completions, in ns; 0 passes each completion batch to the limit at
    /// once.
    pub coalesce_ns: u64,
    /// Interval that contains one sample, at a random time, in ns; 0 takes no samples.
    pub sample_ns: u64,
    /// Records each change of the limit, and the losses in steps.
    pub time_series: bool,
    /// The run ends early once the dry time within the measured time exceeds this, in ns.
    pub give_up_dry_ns: u64,
}

impl Detail {
    /// Records everything, with a sample in each 100 us, a typical interrupt interval.
    pub const FULL: Self = Self {
        slots: RING_SLOTS_LIMITED,
        coalesce_ns: 0,
        sample_ns: 100_000,
        time_series: true,
        give_up_dry_ns: u64::MAX,
    };

    /// Records everything where only the ring limits the queue.
    pub const OFF: Self = Self {
        slots: RING_SLOTS_OFF,
        ..Self::FULL
    };
}
