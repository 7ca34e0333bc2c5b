//! The transmit path around a byte queue limit: sans-IO, without a clock, a thread or a system
//! call, so that a simulator and a live driver run the same code.
//!
//! ```text
//! small queue (budget) -> discipline -> transmit queue (limit, ring) -> driver -> wire
//!        ^------ charge ------------------------^------- completions --------'
//! ```
//!
//! Everything that waits should wait in the [`Qdisc`], where it can be reordered, marked or
//! dropped. What sits in the ring can only be waited for, so a [`Limit`] keeps the ring just full
//! enough.
//!
//! Time is an argument (`now_ns`, never going back), and every packet that enters leaves through a
//! [`PacketSink`]: freed by the device, or dropped with a reason.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(feature = "mock")]
extern crate std;

pub mod budget;
pub mod classify;
pub mod driver;
pub mod gate;
pub mod in_flight;
pub mod knobs;
mod ledger;
pub mod limit;
mod packet;
pub mod pool;
mod probe;
pub mod qdisc;
pub mod queue;
pub mod ring;
pub mod room;
#[doc(hidden)]
pub mod sharing;
pub mod tsq;
pub mod units;

pub use driver::{Completions, InRing, TxRing};
pub use limit::{AnyLimit, Limit};
pub use packet::{DropReason, Ecn, Frame, Packet, PacketSink, Segmentation};
pub use probe::{Event, Probe};
pub use qdisc::{AnyQdisc, Qdisc};
pub use queue::{Completed, Queue, QueueConfig, Stop};
