//! Presentation of the results: a table, and a page with charts.

mod charts;
pub mod page;
pub mod table;

pub use charts::{Drawn, at_most};
