//! Experiments in virtual time. A scenario has settings from a TOML file, builds models of
//! `taut-sim`, and returns rows and a comparison with published results.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod blind_sender;
pub mod budget;
pub mod codel_under_load;
pub mod description;
pub mod error;
pub mod limit_rules;
mod lines;
mod on_off;
mod one_queue;
pub mod pattern;
pub mod pauses;
mod prelude;
pub mod registry;
pub mod replay;
pub mod rr_sizes;
pub mod rr_under_load;
pub mod run;
pub mod scenario;
pub mod schema;
mod serde_text;
pub mod setting;
pub mod shared_budget;
pub mod show;
pub mod single_queue;
pub mod small_queues;
pub mod software_consumer;
pub mod sweep;
pub mod trace_row;
pub mod tracing;
mod two_hosts;
pub mod validation;
pub mod watermarks;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
