//! The model checks of the crate, in one binary. Empty unless built with `--cfg loom`.
#![cfg(loom)]

mod budget;
mod gate;
mod in_flight;
mod many;
mod pool;
mod queue;
mod split;
mod support;
mod tsq;
