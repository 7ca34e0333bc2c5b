//! Ranges of a stream: the out-of-order data of the receiver, and the SACK information of the
//! sender. Without loss they are empty and use no memory.

use rangemap::RangeSet;

/// Ranges `[start, end)` that neither overlap nor touch.
#[derive(Debug, Default)]
pub(super) struct Ranges(RangeSet<u64>);

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates from the highest range down.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().rev().map(|it| (it.start, it.end))
    }

    /// Returns the end of the highest range.
    pub fn end(&self) -> Option<u64> {
        self.0.last().map(|it| it.end)
    }

    /// Adds `[start, end)`. Returns the number of new bytes.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let range = start..end;
        let new = self.0.gaps(&range).map(|gap| gap.end - gap.start).sum();
        self.0.insert(range);
        new
    }

    /// Removes everything before `offset`. Returns the number of removed bytes.
    pub fn remove_before(&mut self, offset: u64) -> u64 {
        if offset == 0 {
            return 0;
        }
        let before = self.0.overlapping(0..offset);
        let removed = before.map(|it| it.end.min(offset) - it.start).sum();
        self.0.remove(0..offset);
        removed
    }

    /// Returns the range that contains `offset`.
    pub fn holding(&self, offset: u64) -> Option<(u64, u64)> {
        self.0.get(&offset).map(|it| (it.start, it.end))
    }

    /// Returns the first gap at or after `offset`: its start, and its end if a range closes it.
    pub fn gap_from(&self, offset: u64) -> (u64, Option<u64>) {
        let start = self.holding(offset).map_or(offset, |it| it.1);
        let next = self.0.overlapping(start..u64::MAX).next();
        (start, next.map(|it| it.start))
    }
}
