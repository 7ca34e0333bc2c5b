//! A limit rule with its coalescing interval.

use std::fmt;
use std::str::FromStr;

use taut_path::AnyLimit;
use taut_path::limit::ParseLimitError;
use taut_path::units::{self, ParseUnitError};
use thiserror::Error;

/// Separates a limit from its coalescing interval.
const EVERY: &str = " every ";

/// A limit and the coalescing interval of its completions: `dql every 1ms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The limit.
    pub limit: AnyLimit,
    /// Coalescing interval of completions, in ns; 0 passes each completion batch at once.
    pub coalesce_ns: u64,
}

impl Rule {
    /// No limit except the ring.
    pub fn off() -> Self {
        AnyLimit::off().into()
    }

    /// Linux's rule without coalescing.
    pub fn dql() -> Self {
        AnyLimit::dql().into()
    }

    /// The rule of this project, for a limit in bytes.
    pub fn taut() -> Self {
        AnyLimit::taut().into()
    }

    /// A fixed limit in bytes.
    pub fn bytes(bytes: u32) -> Self {
        AnyLimit::bytes(bytes).into()
    }
}

impl From<AnyLimit> for Rule {
    fn from(limit: AnyLimit) -> Self {
        Self {
            limit,
            coalesce_ns: 0,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit.fmt(f)?;
        match self.coalesce_ns {
            0 => Ok(()),
            coalesce_ns => write!(f, "{EVERY}{}", units::Time(coalesce_ns)),
        }
    }
}

impl FromStr for Rule {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, ParseRuleError> {
        let (limit, interval) = match text.split_once(EVERY) {
            Some((limit, interval)) => (limit, Some(interval)),
            None => (text, None),
        };
        let limit = limit.parse()?;
        let coalesce_ns = interval.map_or(Ok(0), parse_coalesce_ns)?;
        Ok(Self { limit, coalesce_ns })
    }
}

fn parse_coalesce_ns(time: &str) -> Result<u64, ParseRuleError> {
    match units::parse_time_ns(time)? {
        0 => Err(ParseRuleError::CoalesceZero),
        coalesce_ns => Ok(coalesce_ns),
    }
}

/// Why a rule could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseRuleError {
    /// The limit is invalid.
    #[error(transparent)]
    Limit(#[from] ParseLimitError),
    /// The coalescing interval is invalid.
    #[error(transparent)]
    Coalesce(#[from] ParseUnitError),
    /// The coalescing interval is 0.
    #[error("interval is 0; allowed: a time above 0, or no interval to disable coalescing")]
    CoalesceZero,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Rule, String> {
        text.parse()
            .map_err(|error: ParseRuleError| error.to_string())
    }

    #[test]
    fn rule_display_parses_back() {
        for text in [
            "dql",
            "off",
            "40k",
            "taut:99.5%",
            "dql every 100us",
            "taut:packets:2ms every 1ms",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert!(
            read("dql every 5")
                .unwrap_err()
                .contains("a unit is missing")
        );
        assert!(read("dql every 0ms").unwrap_err().contains("above 0"));
        assert!(read("what").is_err());
    }

    proptest! {
        #[test]
        fn any_rule_text_parses_without_panic(text in "\\PC{0,20}") {
            let _ = read(&text);
            let _ = read(&format!("dql every {text}"));
        }
    }
}
