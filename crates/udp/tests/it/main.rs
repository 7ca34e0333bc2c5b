//! All tests of the crate in one binary.

mod common;
mod live_faults;
mod live_limit;
mod live_permit;
mod live_quality;
mod live_quic;
mod live_routes;
mod live_sources;
mod live_tokio;
