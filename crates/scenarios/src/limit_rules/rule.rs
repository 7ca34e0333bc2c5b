//! Names of the compared rules.

use std::fmt;
use std::str::FromStr;

use taut_path::limit::{Fixed, Limit, NamedLimit, Unit, Utilisation};

use crate::error::ScenarioError;
use taut_sim::completion_trace::{CompletionTrace, Detail, TraceReport, observe};
use taut_sim::single_queue_bench::{ParseRuleError, Rule};

/// A rule by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleName {
    /// `fixed`: the smallest sufficient fixed limit.
    Fixed,
    /// A limit, with an optional coalescing interval: `dql every 1ms`.
    Rule(Rule),
}

impl RuleName {
    /// Runs `trace` with the rule; `fixed_bytes` is the offline optimum.
    pub(super) fn observe(
        &self,
        trace: &CompletionTrace,
        fixed_bytes: Option<u32>,
    ) -> Result<Option<TraceReport>, ScenarioError> {
        let mut rule = match self {
            Self::Fixed => match fixed_bytes {
                Some(bytes) => Rule::bytes(bytes),
                None => return Ok(None),
            },
            Self::Rule(rule) if rule.limit.is_off() => {
                return Ok(Some(observe(trace, Fixed::off(), Detail::OFF)?));
            }
            Self::Rule(rule) => rule.clone(),
        };
        // The trace has a target utilisation; a target in the rule's name takes precedence.
        rule.limit
            .set_default_target(nearest_target(trace.utilisation));
        let detail = Detail {
            coalesce_ns: rule.coalesce_ns,
            ..Detail::FULL
        };
        Ok(Some(observe(trace, rule.limit, detail)?))
    }

    /// Returns the unit of its limit.
    pub(super) fn unit_name(&self) -> &'static str {
        match self {
            Self::Rule(rule) if rule.limit.unit() == Unit::Packets => "packets",
            Self::Fixed | Self::Rule(_) => "bytes",
        }
    }
}

/// Returns the valid target utilisation that is nearest to `utilisation`.
fn nearest_target(utilisation: f64) -> Utilisation {
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
            format!("{error}; also allowed: fixed (the smallest sufficient limit), dql every TIME")
        })
    }
}
