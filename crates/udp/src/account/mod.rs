//! The accounting of a socket, without a socket, a clock or a system call.
//!
//! The caller reports its sends ([`SocketTracker::queue`], [`SocketTracker::returned`]) and the
//! kernel's reports about them ([`SocketTracker::error_queue_entry`], [`SocketTracker::level`]),
//! and ends each such batch with [`SocketTracker::end_batch`]. Ids wrap, and completions arrive
//! merged, late, out of order or never. No byte is counted twice or stays in flight indefinitely:
//! each queued byte is in flight, completed, or abandoned and counted as lost.

mod completing;
mod in_flight;
mod limiter;
mod memory_estimate;
mod overtaken;
mod poll_timer;
mod recent_losses;
mod rejected;
mod results;
mod sending;
mod settings;
mod source_quality;
mod stall_timer;
mod tracker;

pub use results::{Completed, Departure, DepartureKind, Totals};
pub use settings::{Settings, Source};
pub use tracker::SocketTracker;
