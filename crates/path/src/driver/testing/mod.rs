//! Drivers for tests (feature `testing`, needs `std`).
//!
//! [`mock`] is a device that a test controls. [`Faults`], [`Outages`] and [`Trace`] wrap any
//! driver: they inject faults, take the device down, and trace every call.

mod faults;
pub mod mock;
mod outages;
mod trace;

pub use faults::{FaultCounts, FaultError, FaultPlan, Faults};
pub use outages::{DeviceState, OutageCounts, Outages};
pub use trace::{Trace, TraceEvent};
