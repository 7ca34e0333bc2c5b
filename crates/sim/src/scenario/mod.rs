//! Experiments in virtual time.

pub mod s1;
