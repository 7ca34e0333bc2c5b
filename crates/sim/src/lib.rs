//! Deterministic models around the transmit path. The simulator runs the emulated NIC in virtual
//! time, the live lab in real time.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod bisection;
pub mod completion_trace;
pub mod consumer;
pub mod convergence;
pub mod error;
pub mod multi_queue_bench;
pub mod nic;
mod note;
pub mod pcap;
pub mod queue;
pub mod replay;
pub mod rng;
pub mod s1;
pub mod single_queue_bench;
mod sink;
pub mod tcp;
mod testbed;
pub mod time_series;
pub mod world;

/// Headers of a TCP segment: 14 bytes of Ethernet, 20 of IPv4, 32 of TCP with timestamps.
pub const HEADER_BYTES: u16 = 66;

/// Time of an event that is not scheduled, in ns.
pub(crate) const NEVER_NS: u64 = u64::MAX;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
