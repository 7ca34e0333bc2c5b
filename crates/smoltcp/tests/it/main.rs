//! Tests of the crate; one binary.

mod buffers;
mod net;
mod tokens;
