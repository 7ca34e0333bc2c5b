//! The accounting of a socket, without a socket, a clock or a system call.
//!
//! The socket's state reports its sends ([`SocketTracker::queue`], [`SocketTracker::returned`]) and
//! the kernel's reports about them ([`SocketTracker::error_queue_entry`],
//! [`SocketTracker::level`]), and ends each such batch with [`SocketTracker::end_batch`]. Ids wrap,
//! and completions arrive merged, late, out of order or never. No byte is counted twice or stays in
//! flight indefinitely: each queued byte is in flight, completed, or abandoned and counted as lost.

#[cfg(test)]
mod cap_tests;
mod completing;
mod in_flight;
mod limiter;
mod losses;
mod memory_estimate;
mod results;
mod sending;
mod settings;
mod stall_timer;
#[cfg(test)]
mod tests;
mod tracker;

pub use results::{Completed, Departure, Totals};
pub(crate) use settings::Settings;
pub use stall_timer::StallTimer;
pub(crate) use tracker::SocketTracker;
