//! Options of the request/response experiment, live and simulated.

pub mod command;
pub mod experiment;
