//! Experiments in virtual time.

#[cfg(feature = "scenario")]
pub mod aperiodic;
#[cfg(feature = "scenario")]
pub mod quantity;
#[cfg(feature = "scenario")]
pub mod registry;
#[cfg(feature = "scenario")]
pub mod right_size;
pub mod rr_under_load;
pub mod s1;
#[cfg(feature = "scenario")]
mod single_queue;
