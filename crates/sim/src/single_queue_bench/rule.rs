//! What holds a queue back.

use std::fmt;
use std::str::FromStr;

use taut_path::AnyLimit;
use taut_path::limit::ParseLimitError;
use taut_path::units::{self, ParseUnitError};

/// Between a limit and its cadence.
const EVERY: &str = " every ";

/// A limit, and how often it hears of completions: `dql every 1ms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The limit.
    pub limit: AnyLimit,
    /// How far apart completions are handed on to it, in ns; 0 hands on each round at once.
    pub cadence_ns: u64,
}

impl Rule {
    /// Only the ring.
    pub fn off() -> Self {
        AnyLimit::off().into()
    }

    /// Linux's rule as it is.
    pub fn dql() -> Self {
        AnyLimit::dql().into()
    }

    /// Linux's rule, to which completions are handed on only every `cadence_ns`.
    pub fn dql_every(cadence_ns: u64) -> Self {
        Self {
            limit: AnyLimit::dql(),
            cadence_ns,
        }
    }

    /// The winner of the comparison of rules.
    pub fn taut() -> Self {
        AnyLimit::taut().into()
    }

    /// A fixed number of bytes.
    pub fn bytes(bytes: u32) -> Self {
        AnyLimit::bytes(bytes).into()
    }
}

impl From<AnyLimit> for Rule {
    fn from(limit: AnyLimit) -> Self {
        Self {
            limit,
            cadence_ns: 0,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit.fmt(f)?;
        match self.cadence_ns {
            0 => Ok(()),
            cadence_ns => {
                f.write_str(EVERY)?;
                units::write_time(f, cadence_ns)
            }
        }
    }
}

impl FromStr for Rule {
    type Err = ParseRuleError;

    fn from_str(text: &str) -> Result<Self, ParseRuleError> {
        let (limit, cadence) = match text.split_once(EVERY) {
            Some((limit, cadence)) => (limit, Some(cadence)),
            None => (text, None),
        };
        let limit = limit.parse().map_err(ParseRuleError::Limit)?;
        let cadence_ns = cadence.map_or(Ok(0), parse_cadence_ns)?;
        Ok(Self { limit, cadence_ns })
    }
}

fn parse_cadence_ns(time: &str) -> Result<u64, ParseRuleError> {
    match units::parse_time_ns(time).map_err(ParseRuleError::Cadence)? {
        0 => Err(ParseRuleError::CadenceZero),
        cadence_ns => Ok(cadence_ns),
    }
}

/// Why a rule was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseRuleError {
    /// The limit.
    Limit(ParseLimitError),
    /// How often it hears of completions.
    Cadence(ParseUnitError),
    /// It would hear of them each 0 ns.
    CadenceZero,
}

impl fmt::Display for ParseRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(error) => error.fmt(f),
            Self::Cadence(error) => error.fmt(f),
            Self::CadenceZero => f.write_str(
                "every 0 is no pace; allowed: a time above 0, or nothing for each round at once",
            ),
        }
    }
}

impl std::error::Error for ParseRuleError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Rule, String> {
        text.parse()
            .map_err(|error: ParseRuleError| error.to_string())
    }

    #[test]
    fn rules_are_spelled_as_a_trace_spells_them() {
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
        fn any_rule_is_read_without_panic(text in "\\PC{0,20}") {
            let _ = read(&text);
            let _ = read(&format!("dql every {text}"));
        }
    }
}
