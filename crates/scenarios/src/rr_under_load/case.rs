//! The rows of the experiment: with or without a limit, with or without GSO packets.

use std::fmt;
use std::str::FromStr;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use taut_path::limit::{Limit, Unit};
use taut_path::{AnyLimit, LateSegmentation};

use crate::on_off::on_off;
use crate::serde_text::as_text;

/// One combination of limit and segmentation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Case {
    /// The limit of the queue.
    #[serde(with = "as_text")]
    pub limit: AnyLimit,
    /// Whether the senders use GSO packets.
    pub tso: bool,
    /// Their late segmentation.
    #[serde(with = "as_text")]
    pub late_segmentation: LateSegmentation,
}

impl Case {
    /// Returns the case of a row of a document. A registered limit whose text cannot be parsed has
    /// none.
    pub(super) fn of_row(row: &Value) -> Option<Self> {
        Self::deserialize(row).ok()
    }

    /// Returns `true` if the queue has a limit.
    pub fn bql(&self) -> bool {
        !self.limit.is_off()
    }

    /// Returns `true` if it is a limit in bytes, which is comparable with the bytes in the ring.
    pub fn limits_bytes(&self) -> bool {
        self.bql() && self.limit.unit() == Unit::Bytes
    }
}

/// The columns of a row, which also state whether there is a limit.
impl Serialize for Case {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut columns = to.serialize_struct("Case", 4)?;
        columns.serialize_field("limit", &self.limit.to_string())?;
        columns.serialize_field("bql", &self.bql())?;
        columns.serialize_field("tso", &self.tso)?;
        columns.serialize_field("late_segmentation", &self.late_segmentation.to_string())?;
        columns.end()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = &self.limit;
        write!(f, "limit {limit}, TSO {}", on_off(self.tso))?;
        match self.late_segmentation {
            LateSegmentation::Off => Ok(()),
            mode => write!(f, ", late segmentation {mode}"),
        }
    }
}

/// A selection of rows: `all`, or `limit=on,tso=off` and similar. `None` selects both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Only {
    limit: Option<bool>,
    tso: Option<bool>,
}

impl Only {
    /// Returns the selected rows, in the order of the published table. Rows without a limit come
    /// first, then those with each of `limits`. In both groups, GSO packets come first, with each
    /// of `modes`.
    pub fn cases(self, limits: &[AnyLimit], modes: &[LateSegmentation]) -> Vec<Case> {
        let of_tso = |tso| {
            let limits = limits.iter().filter(|limit| !limit.is_off()).cloned();
            let limits = std::iter::once(AnyLimit::off()).chain(limits);
            limits.flat_map(move |limit| {
                let modes = effective_modes(modes, tso, limit.is_off()).into_iter();
                modes.map(move |late_segmentation| Case {
                    limit: limit.clone(),
                    tso,
                    late_segmentation,
                })
            })
        };
        let selected = |case: &Case| {
            self.limit.is_none_or(|on| on == case.bql()) && self.tso.is_none_or(|on| on == case.tso)
        };
        let cases = of_tso(true).chain(of_tso(false));
        cases.filter(selected).collect()
    }
}

/// Returns the modes with different effects. Without GSO packets all are equal, and without a limit
/// some have no effect.
fn effective_modes(modes: &[LateSegmentation], tso: bool, no_limit: bool) -> Vec<LateSegmentation> {
    let mut effective = Vec::new();
    for &mode in modes {
        let whole = !tso || no_limit && mode.needs_limit();
        let mode = if whole { LateSegmentation::Off } else { mode };
        if !effective.contains(&mode) {
            effective.push(mode);
        }
    }
    effective
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("limit", self.limit), ("tso", self.tso)].into_iter();
        let parts = parts.filter_map(|(name, on)| Some(format!("{name}={}", on_off(on?))));
        match parts.collect::<Vec<_>>().join(",") {
            parts if parts.is_empty() => f.write_str("all"),
            parts => f.write_str(&parts),
        }
    }
}

impl FromStr for Only {
    type Err = String;

    /// Errors contain a position, counted from 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut only = Self::default();
        if text == "all" {
            return Ok(only);
        }
        let mut position = 1;
        for part in text.split(',') {
            let selected = match part {
                // Files of earlier versions have `bql`.
                "limit=on" | "limit=off" | "bql=on" | "bql=off" => &mut only.limit,
                "tso=on" | "tso=off" => &mut only.tso,
                _ => {
                    return Err(format!(
                        "unknown row at position {position}; allowed: all, or limit=on, \
                         limit=off, tso=on, tso=off joined by a comma"
                    ));
                }
            };
            if selected.replace(part.ends_with("=on")).is_some() {
                return Err(format!("duplicate name at position {position}"));
            }
            position += part.chars().count() + 1;
        }
        Ok(only)
    }
}
