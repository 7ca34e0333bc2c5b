//! All tests of the crate in one binary.

mod common;
mod live_endpoint;
mod live_socket;
