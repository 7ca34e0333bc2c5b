//! Units of a packet, without a branch.

use crate::limit::Unit;

/// Converts a packet to units of the limit.
#[derive(Clone, Copy)]
pub(super) struct UnitMask {
    kept_bits: u32,
    set_bits: u32,
}

impl UnitMask {
    pub const fn new(unit: Unit) -> Self {
        let (kept_bits, set_bits) = match unit {
            Unit::Bytes => (u32::MAX, 0),
            Unit::Packets => (0, 1),
        };
        Self {
            kept_bits,
            set_bits,
        }
    }

    /// Units of a packet of `bytes`.
    #[inline]
    pub const fn of(self, bytes: u32) -> u32 {
        bytes & self.kept_bits | self.set_bits
    }

    /// Units of `packets` that have `bytes` together.
    pub const fn of_many(self, packets: u32, bytes: u32) -> u32 {
        if self.set_bits == 0 { bytes } else { packets }
    }
}
