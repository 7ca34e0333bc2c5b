//! How a queue of a pattern is set up, and how closely it is watched.

/// Slots of the ring where nothing else holds the queue back: that of the two 10G cards of the
/// published experiments.
pub const RING_SLOTS_OFF: u32 = 4_096;

/// Slots that no limit of the estimator's range fills with packets of a usual size. Those of a few
/// bytes, under a limit that grows and grows, take no more memory than this.
const RING_SLOTS_LIMITED: u32 = 1 << 22;

/// How a queue is set up, and how closely the run is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Slots of each ring.
    pub slots: u32,
    /// How far apart completions are handed on to the limit, in ns; 0 hands on each round at once.
    pub cadence_ns: u64,
    /// One look at the queue in each such time, at a random moment of it, in ns; 0 never looks.
    pub sample_ns: u64,
    /// Whether each change of the limit is kept, and what was lost step by step.
    pub course: bool,
    /// The run ends early once the wire was dry for longer than this in the measured time, in ns.
    pub give_up_dry_ns: u64,
}

impl Detail {
    /// Everything, with a sample in each 100 us, as often as an interrupt as a rule.
    pub const FULL: Self = Self {
        slots: RING_SLOTS_LIMITED,
        cadence_ns: 0,
        sample_ns: 100_000,
        course: true,
        give_up_dry_ns: u64::MAX,
    };

    /// Everything, where only the ring holds the queue back.
    pub const OFF: Self = Self {
        slots: RING_SLOTS_OFF,
        ..Self::FULL
    };
}
