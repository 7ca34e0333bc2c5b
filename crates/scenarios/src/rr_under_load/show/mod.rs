//! Presentation of the results: a table, and a page with charts.

mod charts;
mod table;

pub use charts::{at_most, page};
pub use table::text;
