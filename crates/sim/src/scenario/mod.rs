//! Experiments in virtual time.

pub mod rr_under_load;
pub mod s1;
