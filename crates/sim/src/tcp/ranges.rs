//! Sorted, disjoint ranges of a stream: the out-of-order data of the receiver, and the SACK
//! information of the sender. Without loss they are empty and use no memory.

use std::collections::VecDeque;

/// Sorted ranges `[start, end)` that neither overlap nor touch.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    sorted: VecDeque<(u64, u64)>,
}

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Iterates from the highest range down.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sorted.iter().rev().copied()
    }

    /// Returns the end of the highest range.
    pub fn end(&self) -> Option<u64> {
        self.sorted.back().map(|&(_, end)| end)
    }

    /// Adds `[start, end)`. Returns the number of new bytes.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // The ranges [first, last) touch or overlap the new one.
        let first = self.sorted.partition_point(|&(_, e)| e < start);
        let mut last = first;
        let (mut merged_start, mut merged_end, mut known) = (start, end, 0);
        while let Some(&(s, e)) = self.sorted.get(last) {
            if s > end {
                break;
            }
            known += e.min(end).saturating_sub(s.max(start));
            merged_start = merged_start.min(s);
            merged_end = merged_end.max(e);
            last += 1;
        }
        if first == last {
            self.sorted.insert(first, (start, end));
        } else {
            self.sorted[first] = (merged_start, merged_end);
            self.sorted.drain(first + 1..last);
        }
        (end - start) - known
    }

    /// Removes everything before `offset`. Returns the number of removed bytes.
    pub fn remove_before(&mut self, offset: u64) -> u64 {
        let mut removed = 0;
        while let Some(&(start, end)) = self.sorted.front() {
            if start >= offset {
                break;
            }
            if end > offset {
                removed += offset - start;
                self.sorted[0].0 = offset;
                break;
            }
            removed += end - start;
            self.sorted.pop_front();
        }
        removed
    }

    /// Removes the lowest range if it contains `offset`, and returns its end.
    pub fn take_first_reaching(&mut self, offset: u64) -> Option<u64> {
        let &(start, end) = self.sorted.front()?;
        if start > offset {
            return None;
        }
        self.sorted.pop_front();
        Some(end)
    }

    /// Returns the range that contains `offset`.
    pub fn holding(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.sorted.partition_point(|&(_, end)| end <= offset);
        self.sorted
            .get(at)
            .copied()
            .filter(|&(start, _)| start <= offset)
    }

    /// Returns the first gap at or after `offset`: its start, and its end if a range closes it.
    pub fn gap_from(&self, offset: u64) -> (u64, Option<u64>) {
        let at = self.sorted.partition_point(|&(_, end)| end <= offset);
        match self.sorted.get(at) {
            Some(&(start, _)) if start > offset => (offset, Some(start)),
            // Ranges do not touch: after this one there is a gap.
            Some(&(_, end)) => (end, self.sorted.get(at + 1).map(|&(start, _)| start)),
            None => (offset, None),
        }
    }
}
