//! Whether completions still come, or are only made up for.

/// Objects that are looked back at.
const WINDOW: u32 = u32::BITS;

/// How the last objects ended.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// A bit for each, the latest lowest; 1 if its completion never came.
    lost: u32,
    objects: u32,
}

impl Losses {
    pub(super) fn told(&mut self) {
        self.push(0);
    }

    pub(super) fn lost(&mut self) {
        self.push(1);
    }

    fn push(&mut self, bit: u32) {
        self.lost = self.lost << 1 | bit;
        self.objects = (self.objects + 1).min(WINDOW);
    }

    /// A whole window was seen, and more than half of it was lost.
    pub(super) fn are_most(&self) -> bool {
        self.objects == WINDOW && self.lost.count_ones() > WINDOW / 2
    }
}
