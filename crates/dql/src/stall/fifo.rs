//! Stall detection from totals alone.

use crate::sharing::Local;
use crate::stall::Stall;
use crate::stall::detector::StallDetector;
use crate::stall::generations::{GenerationClock, Generations};

/// Detects a queue whose oldest unit in flight is older than a threshold: the device stopped, or
/// the driver reports less than it was given.
///
/// It compares ages, not the time since the last completion. So it also detects a queue in which
/// something completes again and again while more is queued than ever completes.
///
/// It counts no units: the caller passes its wrapping totals. Units must complete in FIFO order.
/// [`completed`](Self::completed) begins a generation every eighth of the threshold, because the
/// sender has no clock here.
///
/// # Precision
/// - A stall is reported by the first check after the oldest unit is older than the threshold, and
///   its age is never understated.
/// - An age is overstated by at most an eighth of the threshold plus one completion interval.
/// - Units that are queued during a stall count as old as the stall until they complete.
#[derive(Debug)]
pub struct FifoStallDetector {
    generations: Generations<Local>,
    clock: GenerationClock,
    detector: StallDetector,
    num_completed: u32,
    last_stall_ns: u64,
}

impl FifoStallDetector {
    /// Detects units that are in flight for longer than `threshold_ns`; 0 turns detection off.
    pub fn new(threshold_ns: u64) -> Self {
        Self {
            generations: Generations::new(threshold_ns),
            clock: GenerationClock::default(),
            detector: StallDetector::new(threshold_ns, 0),
            num_completed: 0,
            last_stall_ns: 0,
        }
    }

    /// Call it after each completion, with the totals after it.
    pub fn completed(&mut self, num_queued: u32, num_completed: u32, now_ns: u64) {
        self.settle(num_completed);
        if self.detector.is_stalled() {
            self.detector
                .check(&self.generations, num_queued, false, now_ns);
        }
        let begun = self.clock.begin(&self.generations, num_queued, now_ns);
        if begun.is_some() {
            self.detector.follow(&self.generations, 0);
        }
    }

    fn settle(&mut self, num_completed: u32) {
        let units = num_completed.wrapping_sub(self.num_completed);
        self.num_completed = num_completed;
        self.detector.completed_in_order(&self.generations, units);
    }

    /// Returns the stall if the oldest unit in flight is older than the threshold now. `num_queued`
    /// and `num_completed` are the current totals. `burst_start_ns` is when a unit was last queued
    /// while none was in flight.
    /// A stall counts once, from the check that finds it to the check or completion that finds it
    /// over.
    pub fn check(
        &mut self,
        num_queued: u32,
        num_completed: u32,
        burst_start_ns: u64,
        now_ns: u64,
    ) -> Option<Stall> {
        self.settle(num_completed);
        if !self.detector.is_due(now_ns) {
            return None;
        }
        self.detector.begin_no_earlier_than(burst_start_ns);
        let stall = self
            .detector
            .check(&self.generations, num_queued, false, now_ns);
        if stall.is_some() {
            self.last_stall_ns = now_ns;
        }
        stall
    }

    /// Stalls so far.
    pub fn count(&self) -> u64 {
        self.detector.count()
    }

    /// The greatest age above the threshold that was found, in ns; 0 without any.
    pub fn longest_ns(&self) -> u64 {
        self.detector.longest_ns()
    }

    /// When a check last found a stall, on the caller's clock; 0 without any.
    pub fn last_stall_ns(&self) -> u64 {
        self.last_stall_ns
    }

    /// Forgets what is in flight and the current stall, for when the queue is reset; the counts
    /// stay. Totals can continue from any number.
    pub fn reset(&mut self) {
        self.clock = GenerationClock::default();
        self.num_completed = 0;
        self.detector.reset(&self.generations, 0, 0);
    }
}
