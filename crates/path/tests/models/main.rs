//! The model checks of the crate, in one binary. Empty unless built with `--cfg loom`.
#![cfg(loom)]

mod budget;
mod gate;
mod late_segmentation;
mod queue;
mod support;
mod tsq;
