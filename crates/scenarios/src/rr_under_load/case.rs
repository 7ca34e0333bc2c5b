//! The rows of the experiment: with a limit or without, with super-packets or without.

use std::fmt;
use std::str::FromStr;

use taut_path::limit::{Limit, Unit};
use taut_path::{AnyLimit, LateSegmentation};

use crate::on_off::on_off;

/// One combination that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What holds the queue back.
    pub limit: AnyLimit,
    /// The senders hand over super-packets.
    pub tso: bool,
    /// How those go to the device.
    pub split: LateSegmentation,
}

impl Case {
    /// Whether a limit holds the queue back.
    pub fn bql(&self) -> bool {
        !self.limit.is_off()
    }

    /// Whether it is a limit in bytes, which can be held against the bytes in the ring.
    pub fn limits_bytes(&self) -> bool {
        self.bql() && self.limit.unit() == Unit::Bytes
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = &self.limit;
        write!(f, "limit {limit}, TSO {}", on_off(self.tso))?;
        match self.split {
            LateSegmentation::Off => Ok(()),
            split => write!(f, ", split {split}"),
        }
    }
}

/// Which rows are wanted: `all`, or `bql=on,tso=off` and the like. `None` is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Only {
    bql: Option<bool>,
    tso: Option<bool>,
}

impl Only {
    /// The wanted rows, in the order of the published table: without a limit, then with each of
    /// `limits` that is one, at first with super-packets, which go to the device in each way of
    /// `splits`.
    pub fn cases(self, limits: &[AnyLimit], splits: &[LateSegmentation]) -> Vec<Case> {
        let of_tso = |tso| {
            let limits = limits.iter().filter(|limit| !limit.is_off()).cloned();
            let limits = std::iter::once(AnyLimit::off()).chain(limits);
            limits.flat_map(move |limit| {
                let ways = ways(splits, tso, limit.is_off()).into_iter();
                ways.map(move |split| Case {
                    limit: limit.clone(),
                    tso,
                    split,
                })
            })
        };
        let wanted = |case: &Case| {
            self.bql.is_none_or(|on| on == case.bql()) && self.tso.is_none_or(|on| on == case.tso)
        };
        let cases = of_tso(true).chain(of_tso(false));
        cases.filter(wanted).collect()
    }
}

/// The ways of `splits` that are different: what nobody hands over is not cut, and without a limit
/// some cut nothing.
fn ways(splits: &[LateSegmentation], tso: bool, no_limit: bool) -> Vec<LateSegmentation> {
    let mut ways = Vec::new();
    for &split in splits {
        let whole = !tso || no_limit && split.needs_limit();
        let split = if whole { LateSegmentation::Off } else { split };
        if !ways.contains(&split) {
            ways.push(split);
        }
    }
    ways
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = [("bql", self.bql), ("tso", self.tso)];
        let mut comma = "";
        for (name, on) in wanted.iter().filter_map(|&(name, on)| Some((name, on?))) {
            write!(f, "{comma}{name}={}", on_off(on))?;
            comma = ",";
        }
        if comma.is_empty() {
            f.write_str("all")
        } else {
            Ok(())
        }
    }
}

/// Why rows were not understood. Positions count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseOnlyError {
    /// No row is called that.
    Unknown {
        /// Where it stands.
        position: usize,
    },
    /// A name stands there for the second time.
    Twice {
        /// Where it stands.
        position: usize,
    },
}

impl fmt::Display for ParseOnlyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { position } => write!(
                f,
                "unknown row at position {position}; allowed: all, or bql=on, bql=off, tso=on, \
                 tso=off joined by a comma"
            ),
            Self::Twice { position } => {
                write!(f, "said twice, at position {position}; say each name once")
            }
        }
    }
}

impl std::error::Error for ParseOnlyError {}

impl FromStr for Only {
    type Err = ParseOnlyError;

    fn from_str(text: &str) -> Result<Self, ParseOnlyError> {
        let mut only = Self::default();
        if text == "all" {
            return Ok(only);
        }
        let mut position = 1;
        for part in text.split(',') {
            let wanted = match part {
                "bql=on" | "bql=off" => &mut only.bql,
                "tso=on" | "tso=off" => &mut only.tso,
                _ => return Err(ParseOnlyError::Unknown { position }),
            };
            if wanted.replace(part.ends_with("=on")).is_some() {
                return Err(ParseOnlyError::Twice { position });
            }
            position += part.chars().count() + 1;
        }
        Ok(only)
    }
}
