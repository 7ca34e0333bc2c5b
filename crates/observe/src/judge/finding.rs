//! What a rule found, and its text.

use serde_json::json;
use taut_linux::observe::LIMIT_MAX_UNSET;
use taut_report::number::{readable, short_time};

use crate::row::QueueRow;

/// The result of a rule, from the least to the most severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The evidence is insufficient.
    NotJudged,
    /// Nothing is wrong.
    Ok,
    /// Something is probably wrong.
    Warn,
    /// Something is wrong.
    Bad,
}

impl Verdict {
    /// Returns the value in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotJudged => "not_judged",
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence with numbers.
    pub evidence: String,
}

/// The result of a check; `None` if the rule does not apply.
pub type Judged = Option<Finding>;

fn finding(verdict: Verdict, evidence: String) -> Judged {
    Some(Finding { verdict, evidence })
}

pub fn ok(evidence: String) -> Judged {
    finding(Verdict::Ok, evidence)
}

pub fn warn(evidence: String) -> Judged {
    finding(Verdict::Warn, evidence)
}

/// Warns if `is_wrong`; `evidence` is that of both verdicts.
pub fn warn_if(is_wrong: bool, evidence: String) -> Judged {
    let verdict = if is_wrong { Verdict::Warn } else { Verdict::Ok };
    finding(verdict, evidence)
}

pub fn bad(evidence: String) -> Judged {
    finding(Verdict::Bad, evidence)
}

pub fn not_judged(evidence: impl Into<String>) -> Judged {
    finding(Verdict::NotJudged, evidence.into())
}

pub fn number(value: u64) -> String {
    readable(&json!(value))
}

/// Formats bytes with the time that the link needs for them, if that is known.
pub fn bytes(row: &QueueRow, bytes: u64) -> String {
    match row.link_time_ns(Some(bytes)) {
        _ if bytes >= LIMIT_MAX_UNSET => "unlimited".to_owned(),
        Some(ns) => format!("{} bytes ({})", number(bytes), short_time(ns)),
        None => format!("{} bytes", number(bytes)),
    }
}
