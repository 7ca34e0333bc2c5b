//! All tests of the crate in one binary.

mod account;
mod common;
mod live_faults;
mod live_limit;
mod live_tokio;
mod live_truth;
