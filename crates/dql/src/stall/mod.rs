//! Stall detection: how old the oldest unit in flight is, in any order of completion.
//!
//! The sender begins a new *generation* every eighth of the threshold. It publishes the total
//! queued by then and the time, and marks objects with the number of the generation. The completer
//! derives from the totals, and from the marks of the objects that return, how much of each
//! generation is in flight. So an age is never understated, and overstated by at most an eighth of
//! the threshold. One detector finds a device that stopped and a single object that was lost while
//! others complete around it.
//!
//! [`FifoStallDetector`] is both parts for a queue without marks, whose oldest units complete
//! first.

mod ages;
mod detector;
mod fifo;
#[cfg(test)]
mod tests;

pub use ages::{AGES, AgeClock, AgeLine};
pub use detector::StallDetector;
pub use fifo::FifoStallDetector;

/// A threshold for any link: 1 s. It is longer than one object takes on a slow link, where a GSO
/// packet of 64 KB takes 0.52 s at 1 Mbit/s. It is short enough to act before transports abort a
/// connection.
pub const DEFAULT_THRESHOLD_NS: u64 = 1_000_000_000;

/// A queue without completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// How long the oldest unit has been in flight.
    pub age_ns: u64,
    /// When it was queued, on the caller's clock: now minus the age.
    pub since_ns: u64,
}
