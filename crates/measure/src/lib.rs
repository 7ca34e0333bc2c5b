//! Probes that measure and record a transmit queue.
//!
//! [`meter::Meter`] is the main type: a [`Probe`](taut_path::Probe) that measures the bytes in
//! flight, the backlog and the limit of one queue, weighted by time. It holds each value in a
//! [`meter::Level`]; a [`meter::Window`] selects the time that counts. [`trace::Recorder`] writes
//! the queue's events to a file, and [`trace::read`] reads them back.
//!
//! ```
//! use taut_measure::meter::{Meter, Since};
//! use taut_path::{Event, Frame, Packet, Probe};
//!
//! // Measure from 100 ns on, for 1,000 ns.
//! let mut meter = Meter::new(Since(100), 0, 1_000);
//! let packet = Packet::new(Frame::new(0), 1_500);
//! meter.event(50, Event::Sent(&packet));
//! meter.event(600, Event::Limit(3_000));
//! meter.event(600, Event::Sent(&packet));
//! assert_eq!(meter.in_flight_bytes().now, 3_000);
//! assert_eq!(meter.in_flight_bytes().quantiles().p50, 1_500);
//! # let _ = packet.into_frame();
//! ```
//!
//! The crate does not read the kernel's queues and does not draw.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// A writer that counts bytes and keeps the first error for the end.
pub mod counted_writer;
/// Distributions over time of one queue.
pub mod meter;
/// The events of a queue as text.
pub mod trace;

/// The seed of everything drawn at random, unless the user sets another.
pub const DEFAULT_SEED: u64 = 1;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
