//! Experiments in virtual time.

#[cfg(feature = "scenario")]
pub mod aperiodic;
#[cfg(feature = "scenario")]
pub mod blind_sender;
#[cfg(feature = "scenario")]
pub mod codel_under_load;
#[cfg(feature = "scenario")]
pub mod late_sockets;
#[cfg(feature = "scenario")]
pub mod limit_over_time;
#[cfg(feature = "scenario")]
pub mod limit_rules;
#[cfg(feature = "scenario")]
pub mod never_worse;
#[cfg(feature = "scenario")]
mod one_stream;
#[cfg(feature = "scenario")]
pub mod quantity;
#[cfg(feature = "scenario")]
pub mod rate_change;
#[cfg(feature = "scenario")]
pub mod registry;
#[cfg(feature = "scenario")]
pub mod right_size;
#[cfg(feature = "scenario")]
pub mod rr_sizes;
pub mod rr_under_load;
pub mod s1;
#[cfg(feature = "scenario")]
pub mod shared_budget;
#[cfg(feature = "scenario")]
mod single_queue;
#[cfg(feature = "scenario")]
pub mod small_queues;
#[cfg(feature = "scenario")]
pub mod tracing;
#[cfg(feature = "scenario")]
pub mod watermarks;
