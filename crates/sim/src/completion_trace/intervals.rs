//! The interrupts of a trace.

use std::iter::Copied;
use std::slice::Iter;

/// One interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Time since the previous interrupt, in ns; at least 1.
    pub gap_ns: u64,
    /// Return delay of a blocked sender after this interrupt, in ns.
    pub delay_ns: u64,
}

/// Interrupts in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals {
    list: Vec<Interval>,
    total_ns: u64,
}

impl Intervals {
    /// Appends an interrupt.
    pub fn push(&mut self, interval: Interval) {
        self.list.push(interval);
        self.total_ns = self.total_ns.saturating_add(interval.gap_ns);
    }

    /// Returns the number of interrupts.
    pub fn count(&self) -> u64 {
        self.list.len() as u64
    }

    /// Returns the time of the last interrupt, in ns.
    pub const fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// Iterates over the interrupts.
    pub fn iter(&self) -> Copied<Iter<'_, Interval>> {
        self.list.iter().copied()
    }
}
