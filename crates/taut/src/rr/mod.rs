//! The options of the experiment of a request/response under load, live and simulated.

pub mod command;
pub mod experiment;
