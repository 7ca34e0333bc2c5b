//! Stall detection: the age of the oldest unit in flight, in any order of completion.
//!
//! The sender begins a new *generation* every eighth of the threshold. It publishes the total
//! queued by then and the time, and tags objects with the number of the generation. The completer
//! derives the units in flight of each generation from the totals and from the tags of the objects
//! that return. So an age is never understated, and overstated by at most an eighth of the
//! threshold. One detector finds a device that stopped, and a single object that was lost while
//! others complete around it.
//!
//! [`FifoStallDetector`] is both parts for a queue without tags, whose oldest units complete first.
//! Other queues share a [`Generations`] and call, in this order:
//! 1. The sender, before it queues: [`GenerationClock::run`]. If that returns a number, the sender
//!    tags objects with it from now on (the number modulo [`MAX_GENERATIONS`] suffices).
//! 2. The completer, during a reap: [`StallDetector::follow`] if [`StallDetector::is_behind`]. Then
//!    [`StallDetector::completed_in`] for each object with a tag other than
//!    [`StallDetector::newest`].
//! 3. The completer, after the reap: [`StallDetector::completed`] with all units of the batch,
//!    including those of `completed_in`. Then [`StallDetector::check`].

mod detector;
mod fifo;
mod generations;
#[cfg(test)]
mod tests;

pub use detector::StallDetector;
pub use fifo::FifoStallDetector;
pub use generations::{GenerationClock, Generations, MAX_GENERATIONS};

/// A threshold for any link: 1 s. It is longer than one object takes on a slow link, where a GSO
/// packet of 64 KB takes 0.52 s at 1 Mbit/s. It is short enough to act before transports abort a
/// connection.
pub const DEFAULT_THRESHOLD_NS: u64 = 1_000_000_000;

/// A queue whose oldest unit in flight is older than the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The time for which the oldest unit has been in flight, in ns.
    pub age_ns: u64,
    /// When it was queued, on the caller's clock, in ns: now minus the age.
    pub since_ns: u64,
}
