//! Pages from which the kernel sends: a ring of spans, each kept until its notification.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use memmap2::MmapMut;

/// Spans begin on a cache line.
const ALIGN_BYTES: usize = 64;

#[derive(Debug)]
pub(crate) struct Pool {
    /// Not from the allocator: pages that are unmapped while a packet is still sent from them stay
    /// with the packet, so bytes of other data can never be sent.
    pages: MmapMut,
    /// Oldest first: id of the object, length of its span with the unused bytes before it,
    /// released.
    spans: VecDeque<(u32, usize, bool)>,
    /// Start of the next span.
    head: usize,
    used: usize,
}

impl Pool {
    pub(crate) fn new(size: usize) -> io::Result<Self> {
        Ok(Self {
            pages: MmapMut::map_anon(size)?,
            spans: VecDeque::new(),
            head: 0,
            used: 0,
        })
    }

    /// Copies `payload` into the pool for object `id`. Returns its position; `None` without room.
    pub(crate) fn put(&mut self, id: u32, payload: &[u8]) -> Option<Range<usize>> {
        let length = payload.len().max(1).next_multiple_of(ALIGN_BYTES);
        let to_end = self.pages.len() - self.head;
        // A span that does not fit before the end starts at the beginning, and includes the unused
        // bytes at the end.
        let (start, taken) = if length <= to_end {
            (self.head, length)
        } else {
            (0, to_end + length)
        };
        if self.used + taken > self.pages.len() {
            return None;
        }
        self.used += taken;
        self.head = (start + length) % self.pages.len();
        self.spans.push_back((id, taken, false));
        let span = start..start + payload.len();
        self.pages[span.clone()].copy_from_slice(payload);
        Some(span)
    }

    pub(crate) fn bytes(&self, span: Range<usize>) -> &[u8] {
        &self.pages[span]
    }

    /// Removes the last `count` objects, which the kernel did not take.
    pub(crate) fn take_back(&mut self, count: usize) {
        for _ in 0..count {
            if let Some((_, length, _)) = self.spans.pop_back() {
                self.used -= length;
                // The head moves back by the whole span, wrapped or not.
                self.head = (self.head + self.pages.len() - length) % self.pages.len();
            }
        }
        self.forget_done();
    }

    /// Releases the span of object `id`.
    pub(crate) fn release(&mut self, id: u32) {
        if let Some((_, _, done)) = self.spans.iter_mut().find(|(it, ..)| *it == id) {
            *done = true;
        }
        self.forget_done();
    }

    fn forget_done(&mut self) {
        while let Some((_, length, true)) = self.spans.front() {
            self.used -= length;
            self.spans.pop_front();
        }
        if self.spans.is_empty() {
            (self.head, self.used) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn span_is_not_reused_before_release() {
        let mut pool = Pool::new(4096).expect("pages");
        assert!(pool.put(0, &[1; 2000]).is_some());
        assert!(pool.put(1, &[2; 1000]).is_some());
        assert!(pool.put(2, &[3; 1500]).is_none(), "no room");
        pool.release(1);
        assert!(pool.put(2, &[3; 1500]).is_none(), "the first is still read");
        pool.release(0);
        assert!(pool.put(2, &[3; 1500]).is_some());
    }

    proptest! {
        #[test]
        fn bytes_stay_until_released(
            steps in prop::collection::vec((0_u8..4, 1_usize..900), 1..200),
        ) {
            let mut pool = Pool::new(4096).expect("pages");
            let mut held: VecDeque<(u32, Range<usize>, Vec<u8>)> = VecDeque::new();
            let mut next = u32::MAX - 5;
            for (step, size) in steps {
                match step {
                    0 | 1 => {
                        let payload = vec![next as u8; size];
                        if let Some(span) = pool.put(next, &payload) {
                            held.push_back((next, span, payload));
                            next = next.wrapping_add(1);
                        }
                    }
                    2 => if let Some((id, ..)) = held.remove(size % held.len().max(1)) {
                        pool.release(id);
                    },
                    _ => if held.back().is_some_and(|it| it.0 == next.wrapping_sub(1)) {
                        held.pop_back();
                        pool.take_back(1);
                        next = next.wrapping_sub(1);
                    },
                }
                for (_, span, payload) in &held {
                    prop_assert_eq!(pool.bytes(span.clone()), &payload[..]);
                }
            }
            while let Some((id, ..)) = held.pop_front() {
                pool.release(id);
            }
            prop_assert_eq!(pool.used, 0);
            prop_assert!(pool.put(next, &[9; 4096]).is_some(), "nothing leaked");
        }
    }
}
