//! The tag of a packet in flight: the queue, the epoch and the generation in which it was sent.

/// Bits of the generation counter, which gives the time in flight.
const GENERATION_BITS: u32 = 3;
/// Bits of the reset counter. After 128 resets, an old packet looks like one of the current epoch.
const EPOCH_BITS: u32 = 7;
/// Bits of the queue number, unique among 63 queues that are built consecutively.
const QUEUE_BITS: u32 = 16 - QUEUE_SHIFT;
const QUEUE_SHIFT: u32 = GENERATION_BITS + EPOCH_BITS;
const GENERATION: u16 = (1 << GENERATION_BITS) - 1;
const EPOCH: u16 = ((1 << EPOCH_BITS) - 1) << GENERATION_BITS;

/// The queue, the epoch and the generation in which a packet was sent. Only the queue can set it,
/// so a packet that was never in flight cannot complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tag(u16);

impl Tag {
    /// The packet was never sent. This is the default.
    pub(crate) const NEVER: Self = Self(0);

    /// Number of distinct generations.
    pub(crate) const GENERATIONS: u32 = 1 << GENERATION_BITS;

    /// Number of distinct remainders of GSO packets.
    pub(crate) const REMAINDERS: u32 = (1 << 9) - 1;

    /// Returns the tag of a new queue in its first epoch, unique among 63 consecutive calls.
    pub(crate) fn of_new_queue() -> Self {
        // Not an atomic of loom: it orders nothing, and must work in a static.
        use core::sync::atomic::{AtomicU16, Ordering};
        static QUEUES: AtomicU16 = AtomicU16::new(0);
        let number = QUEUES.fetch_add(1, Ordering::Relaxed) % ((1 << QUEUE_BITS) - 1);
        Self((number + 1) << QUEUE_SHIFT)
    }

    /// Returns the tag of the same queue after `resets` resets.
    pub(crate) const fn in_epoch(self, resets: u32) -> Self {
        Self(self.0 & !EPOCH | (resets as u16) << GENERATION_BITS & EPOCH)
    }

    /// Returns the tag of the same queue and epoch in another generation.
    pub(crate) const fn in_generation(self, generation: u32) -> Self {
        Self(self.0 & !GENERATION | generation as u16 & GENERATION)
    }

    /// Returns the number of the generation, below [`GENERATIONS`](Self::GENERATIONS).
    pub(crate) const fn generation(self) -> u32 {
        (self.0 & GENERATION) as u32
    }

    /// Returns `true` if both are of one queue and one epoch.
    pub(crate) const fn is_of_epoch(self, other: Self) -> bool {
        (self.0 ^ other.0) & !GENERATION == 0
    }

    /// Returns `true` if both are of one queue.
    pub(crate) const fn is_of_queue(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(GENERATION | EPOCH) == 0
    }

    /// Moves the tag to the most distant epoch.
    pub(crate) const fn leave_epoch(&mut self) {
        if self.0 != Self::NEVER.0 {
            self.0 ^= 1 << (QUEUE_SHIFT - 1);
        }
    }

    /// Returns the tag of remainder `number` of a GSO packet, which no queue sent. It is smaller
    /// than those of queues.
    pub(crate) const fn of_remainder(number: u32) -> Self {
        Self(number as u16 + 1)
    }

    /// Returns the number of a remainder; `None` for any other tag.
    #[inline]
    pub(crate) const fn remainder_number(self) -> Option<u32> {
        match self.0 {
            0 => None,
            tag if tag as u32 <= Self::REMAINDERS => Some(tag as u32 - 1),
            _ => None,
        }
    }

    #[inline]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

const _: () = assert!(Tag::REMAINDERS < 1 << QUEUE_SHIFT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_tag_do_not_touch() {
        let queue = Tag::of_new_queue();
        for resets in [0, 1, 127] {
            for generation in 0..Tag::GENERATIONS {
                let tag = queue.in_epoch(resets).in_generation(generation);
                assert_eq!(tag.generation(), generation);
                assert!(tag.is_of_epoch(queue.in_epoch(resets)) && tag.is_of_queue(queue));
                assert!(!tag.is_of_epoch(queue.in_epoch(resets + 1)));
                assert_eq!(
                    (tag.remainder_number(), Tag::from_bits(tag.bits())),
                    (None, tag)
                );
            }
        }
        assert!(!queue.is_of_queue(Tag::of_new_queue()));
    }

    #[test]
    fn epochs_alias_after_128_resets() {
        let queue = Tag::of_new_queue();
        assert_eq!(queue.in_epoch(128), queue);
        let mut far = queue.in_epoch(5).in_generation(3);
        far.leave_epoch();
        assert!(far.is_of_queue(queue) && far.is_of_epoch(queue.in_epoch(69)));
        assert_eq!(far.generation(), 3);
    }

    #[test]
    fn a_remainder_is_of_no_queue() {
        for number in [0, Tag::REMAINDERS - 1] {
            assert_eq!(Tag::of_remainder(number).remainder_number(), Some(number));
        }
        assert_eq!(Tag::NEVER.remainder_number(), None);
    }
}
