//! The rules that are compared, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_path::limit::{Limit, NamedLimit, Unit, Utilisation};

use super::workload::Workload;
use crate::error::ScenarioError;
use taut_sim::completion_trace::TraceReport;
use taut_sim::single_queue_bench::{ParseRuleError, Rule};

/// A rule, as it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleName {
    /// `fixed`: the least fixed limit that keeps the pattern's promise.
    Fixed,
    /// A limit, which may hear of completions only so often: `dql every 1ms`.
    Rule(Rule),
}

impl RuleName {
    /// Runs `workload` with it; `fixed_bytes` is the yardstick.
    pub(super) fn observe(
        &self,
        workload: &dyn Workload,
        fixed_bytes: Option<u32>,
    ) -> Result<Option<TraceReport>, ScenarioError> {
        let mut rule = match self {
            Self::Fixed => match fixed_bytes {
                Some(bytes) => Rule::bytes(bytes),
                None => return Ok(None),
            },
            Self::Rule(rule) if rule.limit.is_off() => return workload.observe_off().map(Some),
            Self::Rule(rule) => rule.clone(),
        };
        // The workload says what is wanted of it, unless the rule was told.
        rule.limit.set_default_target(wanted(workload.promise()));
        workload.observe(&rule).map(Some)
    }

    /// What its limit counts.
    pub(super) fn unit_name(&self) -> &'static str {
        match self {
            Self::Rule(rule) if rule.limit.unit() == Unit::Packets => "packets",
            Self::Fixed | Self::Rule(_) => "bytes",
        }
    }
}

/// What a rule promises that is to keep so much of the link's time busy, or what comes nearest.
fn wanted(utilisation: f64) -> Utilisation {
    let ppm = libm::round(utilisation * 1e6) as u32;
    let ppm = ppm.clamp(Utilisation::MIN_PPM, Utilisation::MAX_PPM);
    Utilisation::from_ppm(ppm).unwrap_or_default()
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::Rule(rule) => rule.fmt(f),
        }
    }
}

impl FromStr for RuleName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "fixed" {
            return Ok(Self::Fixed);
        }
        let rule = text.parse().map(Self::Rule);
        rule.map_err(|error: ParseRuleError| {
            format!("{error}; or fixed, the least fixed limit, or dql every 1ms")
        })
    }
}

impl Serialize for RuleName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RuleName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
