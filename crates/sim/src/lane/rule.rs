//! What holds a queue back.

use std::fmt;

use taut_path::AnyLimit;
use taut_path::limit::Need;

/// A limit, and how often it hears of completions.
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

    /// The largest need of the last second.
    pub fn need() -> Self {
        AnyLimit::new(Need::default()).into()
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
            cadence_ns => write!(f, " every {cadence_ns}ns"),
        }
    }
}
