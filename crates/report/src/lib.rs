//! Results as one document, and its forms: text for terminals, CSV and JSON for programs, and a
//! page for browsers.
//!
//! [`document::Document`] is the main type. [`text::text`], [`csv::csv`] and
//! [`Document::json_lines`](document::Document::json_lines) write it. A [`page::Page`] shows it
//! with [`chart::Chart`]s. [`over_time::charts`] draws the time series of a document.
//!
//! ```
//! use serde_json::json;
//! use taut_report::document::Document;
//!
//! let document = Document {
//!     scenario: "example",
//!     taut_version: "0.1.0",
//!     seed: 1,
//!     rows: vec![
//!         json!({"limit": "off", "ping_ms": 22.0}),
//!         json!({"limit": "dql", "ping_ms": 1.3}),
//!     ],
//!     ..Document::default()
//! };
//! let text = taut_report::text::text(&document, None);
//! assert_eq!(text.lines().nth(2), Some("off         22"));
//! ```
//!
//! The crate does not measure or simulate, and reads no files.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// The axes of a chart.
pub mod axis;
/// Lines over one pair of axes.
pub mod chart;
/// Comma-separated values.
pub mod csv;
/// The results of a run, in one shape for every experiment.
pub mod document;
/// The output of a verb.
#[cfg(feature = "cli")]
pub mod emit;
mod escaped;
/// Exit codes.
#[cfg(feature = "cli")]
pub mod exit;
/// Atomic replacement of a file.
pub mod file;
/// Nested objects as columns.
pub mod flat;
mod html;
/// Lines that fit into the width of a terminal.
pub mod layout;
/// The colour of a limit.
pub mod limit_color;
/// Messages on standard error.
#[cfg(feature = "cli")]
pub mod message;
/// Numbers as text.
pub mod number;
/// Options for files that grow with a run.
#[cfg(feature = "cli")]
pub mod output_file;
/// Charts of a document's series.
pub mod over_time;
/// A report as data.
pub mod page;
/// Charts as SVG.
pub mod plot;
/// A page as files.
pub mod save;
/// Results on standard output.
#[cfg(feature = "cli")]
pub mod stdout;
/// The size of a terminal.
#[cfg(feature = "cli")]
pub mod terminal;
/// Tables for a terminal.
pub mod text;
/// Values of options.
#[cfg(feature = "cli")]
pub mod value;
/// The comparison with published results.
pub mod verdict;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
