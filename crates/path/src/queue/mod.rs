//! The transmit queue: a discipline above, a limit and a ring below.
//!
//! Two halves share two gates and a ledger. The [`Sender`] runs the discipline while the limit has
//! room and the slots for the largest packet are free. The [`Completer`] takes completions, passes
//! them to the limit, and reports when the sender must be run again. On one thread, [`Queue`] is
//! both, without a fence or an atomic.

mod admission;
mod builder;
mod burst;
mod chunks;
mod complete;
mod complete_settings;
mod completer;
mod config;
mod context;
mod counters;
mod deferred;
mod error;
mod local;
pub mod many;
#[cfg(all(test, loom))]
mod models;
mod monitor;
mod outcome;
mod outlet;
mod recovery;
mod requests;
mod reset;
mod send;
mod send_gso;
mod sender;
pub(crate) mod shared;
mod sink;
mod sort;

pub use admission::Admission;
pub(crate) use builder::HalvesOf;
pub use builder::{Builder, Halves};
pub use completer::Completer;
pub use config::QueueConfig;
pub use counters::{CompleterCounters, Drops, SenderCounters};
pub use error::{CompleteError, NoRoom, QueueConfigError, RepairError};
pub use local::Queue;
pub use monitor::{Monitor, MonitorSnapshot};
pub use outcome::{Completed, Repair, Snapshot, Stop, StopReason};
pub use sender::Sender;
