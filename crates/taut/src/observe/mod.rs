//! Seeing and judging the queues of this machine: the kernel's and those of running taut paths.

pub mod gather;
pub mod metrics;
pub mod options;
pub mod queue_set;
pub mod row;
pub mod show;
