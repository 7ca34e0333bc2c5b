//! Seeing and judging the queues of this machine: the kernel's and those of running taut paths.

mod gather;
pub mod metrics;
mod options;
mod queue_set;
mod row;
pub mod show;
