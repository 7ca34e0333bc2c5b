//! The experiment of a request/response under load: what is varied, what is reported.

pub mod charts;
pub mod command;
pub mod experiment;
pub mod late;
pub mod page;
pub mod results;
pub mod table;
