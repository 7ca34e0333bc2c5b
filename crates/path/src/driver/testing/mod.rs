//! Drivers for tests (feature `testing`, needs `std`).
//!
//! [`mock`] is a device that a test plays itself. [`Faults`], [`Outages`] and [`Trace`] wrap any
//! driver: they make mistakes by plan, take the device down, and show every call.

mod faults;
pub mod mock;
mod outages;
mod trace;

pub use faults::{FaultCounts, FaultError, FaultPlan, Faults};
pub use outages::{DeviceState, OutageCounts, Outages};
pub use trace::{Trace, TraceEvent};
