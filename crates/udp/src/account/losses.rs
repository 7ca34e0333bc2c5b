//! The share of lost completions among the recent ones.

/// Objects that count as recent.
const WINDOW: u32 = u32::BITS;

/// For each recent object: it completed, or its completion was lost.
#[derive(Debug, Default)]
pub(crate) struct RecentLosses {
    /// A bit for each object, the latest lowest; 1 if its completion was lost.
    lost: u32,
    objects: u32,
}

impl RecentLosses {
    pub(super) fn push(&mut self, is_lost: bool) {
        self.lost = self.lost << 1 | u32::from(is_lost);
        self.objects = (self.objects + 1).min(WINDOW);
    }

    /// Returns `true` if more than half of a whole window was lost.
    pub(crate) fn are_most(&self) -> bool {
        self.objects == WINDOW && self.lost.count_ones() > WINDOW / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majority_needs_a_full_window() {
        let mut losses = RecentLosses::default();
        for _ in 1..WINDOW {
            losses.push(true);
            assert!(!losses.are_most());
        }
        losses.push(true);
        assert!(losses.are_most());
        for _ in 0..WINDOW / 2 {
            losses.push(false);
        }
        assert!(!losses.are_most(), "half is not most");
    }
}
