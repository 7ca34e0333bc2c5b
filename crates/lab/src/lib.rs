//! Live experiments with taut's transmit queues, in separate network namespaces.
//!
//! An [`Experiment`](experiment::Experiment) measures cases one after the other;
//! [`experiment::run`] adds the common part: the plan of a dry run, the check of the privilege,
//! progress, interruption and output. [`rr`], [`ring`] and [`forward`] are the
//! experiments of `taut lab`.
//!
//! [`world`] creates hosts and links, [`load`] fills them with TCP streams and measures the latency
//! of requests or pings in parallel. The crate does not read a command line: the caller sets the
//! fields of an experiment.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod control;
pub mod experiment;
pub mod forward;
pub mod load;
pub mod progress;
pub mod ring;
pub mod rr;
pub mod world;

/// The example of the README is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
