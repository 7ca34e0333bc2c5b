//! A report as data.

use crate::chart::Chart;
use crate::document::Document;

/// The origin of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In virtual time.
    Simulated,
    /// With real traffic.
    Live,
}

impl Origin {
    /// Returns the origin in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Simulated => "Simulated",
            Self::Live => "Measured live",
        }
    }
}

/// The content of a report.
#[derive(Debug)]
pub struct Page<'a> {
    /// The results.
    pub document: &'a Document,
    /// Their origin.
    pub origin: Origin,
    /// The subject of the scenario, in a line.
    pub about: &'a str,
    /// Charts of the results.
    pub charts: Vec<Chart>,
    /// A remark above the charts.
    pub remark: Option<String>,
    /// The command that gives the same results.
    pub command: String,
}

/// Returns `text` with a capital at its start and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.trim_end_matches('.').chars();
    match characters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), characters.as_str()),
        None => String::new(),
    }
}
