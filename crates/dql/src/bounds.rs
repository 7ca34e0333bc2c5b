//! Bounds of amounts, from the range of wrapping 32-bit totals.

/// The largest object of one call: 268,435,455 units, a sixteenth of the range of a `u32`.
pub const MAX_OBJECT: u32 = u32::MAX / 16;

/// The largest limit: 1,879,048,192 units, so that the limit and one more object stay below 2^31
/// and a signed room is meaningful.
pub const MAX_LIMIT: u32 = u32::MAX / 2 - MAX_OBJECT;

/// The largest amount in flight: 2,147,483,647 units. Above this, the wrapped difference of two
/// totals would read as negative.
pub const MAX_IN_FLIGHT: u32 = i32::MAX as u32;
