//! All tests of the crate in one binary.

mod common;
mod live;
mod publish;
mod queue;
mod waiting;
