//! Ranges of a stream, sorted and apart: what the receiver holds out of order, and what the sender
//! knows of it. Empty, and without memory, as long as nothing is lost.

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

    /// From the highest down.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sorted.iter().rev().copied()
    }

    /// The end of the highest range.
    pub fn end(&self) -> Option<u64> {
        self.sorted.back().map(|&(_, end)| end)
    }

    /// Adds `[start, end)` and says how many of its bytes are new.
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

    /// Forgets everything before `offset` and says how many bytes that was.
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

    /// Takes out the range that holds `offset`, if it is the lowest, and says where it ends.
    pub fn take_first_reaching(&mut self, offset: u64) -> Option<u64> {
        let &(start, end) = self.sorted.front()?;
        if start > offset {
            return None;
        }
        self.sorted.pop_front();
        Some(end)
    }

    /// The range that holds `offset`.
    pub fn holding(&self, offset: u64) -> Option<(u64, u64)> {
        let at = self.sorted.partition_point(|&(_, end)| end <= offset);
        self.sorted
            .get(at)
            .copied()
            .filter(|&(start, _)| start <= offset)
    }

    /// The first gap at or after `offset`: its start, and its end if a range closes it.
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
