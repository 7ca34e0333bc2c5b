//! Reads, samples and judges the byte limits of this machine's transmit queues.
//!
//! [`gather`] reads the selected queues of a [`Host`] once: each is a [`QueueRow`] of the
//! [`Inventory`]. [`METRICS`] names every value of a row. A [`Sampler`] reads limit and bytes in
//! flight of many queues at a fixed interval; a [`LiveSampler`] does so on a thread.
//! [`judge::judge`] applies the rules of `taut doctor` to what was observed.
//!
//! ```
//! use taut_observe::{Host, METRICS, Missing, Selection, gather};
//!
//! let inventory = gather(&Host::local(), &Selection::default(), Missing::Skip)?;
//! for row in inventory.rows().chain(&inventory.paths) {
//!     println!("{} queue {}", row.device, row.queue);
//!     for metric in METRICS {
//!         if let Some(value) = metric.value(row) {
//!             println!("  {}: {value}", metric.name);
//!         }
//!     }
//! }
//! # Ok::<(), String>(())
//! ```
//!
//! Nothing here prints, parses a command line, or needs a privilege. Values that this kernel or
//! driver does not provide are `None`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// All queues for Prometheus, and an HTTP server for them.
pub mod exporter;
/// Reads all selected queues once.
mod gather;
/// The rules of `taut doctor`.
pub mod judge;
/// The table of metrics.
pub mod metrics;
/// Sets of queue numbers, such as `0-3,7`.
mod queue_set;
/// One queue at one moment.
mod row;
/// Reads limit and bytes in flight at a fixed interval.
pub mod sampler;
/// Changes byte limits: all changes or none.
pub mod set;
/// Where bytes wait on their way out.
pub mod waiting;

pub use gather::{DeviceRow, Host, Inventory, Missing, Selection, gather};
pub use metrics::METRICS;
pub use queue_set::QueueSet;
pub use row::{QueueKey, QueueRow};
pub use sampler::{LiveSampler, Sampler};

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
