//! More than was asked for, for a moment: where a device has become many times faster.
//!
//! Such a device runs dry in every interval, and nobody knows how early, so no interval says what it needs.
//! To grow by what each of them shows takes many of them. A few intervals with several times as much in
//! flight say it, and cost nothing but the wait of those.

use taut_dql::MAX_LIMIT;

use super::interval::Measured;

/// The device is given so many times what it finished,
const TIMES: u64 = 4;

/// for so many intervals from the last in which it ran dry on: then its rate is known, and the needs.
const INTERVALS: u8 = 10;

/// So often in a row at most: a program finishes whatever it is given.
const MOST_STEPS: u8 = 6;

/// Only a device that was not empty for so many intervals is known to be none: more than a program takes at a time,
/// told of each.
const CALM: u16 = 1_024;

/// What is held beyond the limit.
#[derive(Debug, Clone, Copy)]
pub struct Lift {
    bytes: u32,
    intervals_left: u8,
    steps_left: u8,
    /// Intervals since the device ran dry for no known reason,
    calm: u16,
    /// and whether it did so in the last one: once may be chance.
    was_blind: bool,
}

impl Lift {
    /// Nothing is known of the device, so it may be a program: whose costs show in rounds of many sizes, which a
    /// lift would jump over.
    pub const fn new() -> Self {
        Self {
            bytes: 0,
            intervals_left: 0,
            steps_left: 0,
            calm: 0,
            was_blind: false,
        }
    }

    /// To be held at least; 0 when no interval is left.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether the device was not empty for longer than any program is.
    const fn is_steady(&self) -> bool {
        self.calm >= CALM
    }

    /// An interval in which so much finished was measured.
    pub fn measured(&mut self, measured: &Measured, finished_bytes: u64) {
        match measured {
            Measured::Dry(sample) if sample.is_blind() => {
                if core::mem::replace(&mut self.was_blind, true) {
                    self.step(finished_bytes);
                } else if self.is_steady() {
                    self.steps_left = MOST_STEPS;
                }
                self.calm = 0;
            }
            Measured::Pending => {
                self.calm = self.calm.saturating_add(1);
                self.pass();
            }
            Measured::Dry(_) | Measured::Unrefused => self.pass(),
        }
    }

    fn pass(&mut self) {
        self.was_blind = false;
        if self.bytes > 0 {
            self.intervals_left -= 1;
            if self.intervals_left == 0 {
                self.bytes = 0;
            }
        }
    }

    fn step(&mut self, finished_bytes: u64) {
        let Some(left) = self.steps_left.checked_sub(1) else {
            self.bytes = 0;
            return;
        };
        let bytes = finished_bytes.saturating_mul(TIMES);
        *self = Self {
            bytes: u32::try_from(bytes).map_or(MAX_LIMIT, |bytes| bytes.min(MAX_LIMIT)),
            intervals_left: INTERVALS,
            steps_left: left,
            ..*self
        };
    }
}
