//! Tests of the crate; one binary.

mod buffers;
mod fair;
mod frames;
mod net;
mod played;
mod tokens;
