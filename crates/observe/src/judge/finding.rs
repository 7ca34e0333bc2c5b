//! What a rule found.

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
