//! The receiver's out-of-order data, and the order of its SACK blocks.

use rangemap::RangeSet;

use super::segment::SackBlocks;

#[derive(Debug, Default)]
pub(super) struct Reassembly {
    held: RangeSet<u64>,
    /// A byte of each of the latest ranges, the latest first (RFC 2018, 4: the information of a
    /// lost acknowledgement is then repeated twice). Each is in another range; 0 for none, because
    /// data at the start of the stream is never out of order.
    latest: [u64; SackBlocks::MAX],
}

impl Reassembly {
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.held.iter().map(|it| it.end - it.start).sum()
    }

    /// Stores `[start, end)`, which must not be empty.
    pub fn insert(&mut self, start: u64, end: u64) {
        self.held.insert(start..end);
        let Some(range) = self.held.get(&start) else {
            return;
        };
        let mut latest = [start, 0, 0];
        let others = self.latest.iter();
        let others = others.filter(|&at| *at != 0 && !range.contains(at));
        for (place, &at) in latest[1..].iter_mut().zip(others) {
            *place = at;
        }
        self.latest = latest;
    }

    /// Delivers everything before `offset`, which must not be 0, and the adjacent range. Returns
    /// the new end.
    pub fn deliver(&mut self, offset: u64) -> u64 {
        let end = self.held.get(&offset).map_or(offset, |it| it.end);
        self.held.remove(0..end);
        end
    }

    pub fn blocks(&self, cumulative: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for &at in self.latest.iter().filter(|&&at| at > cumulative) {
            if let Some(range) = self.held.get(&at) {
                blocks.push(cumulative, range.start, range.end);
            }
        }
        blocks
    }
}
