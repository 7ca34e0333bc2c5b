//! Names of the compared rules.

use std::fmt;
use std::str::FromStr;

use taut_path::AnyLimit;
use taut_path::limit::{Fixed, Limit, Unit, Utilisation};

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
        rule.limit = with_target(rule.limit, nearest_target(trace.utilisation));
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

/// Returns `limit` with the target utilisation of a trace, if it is `taut`. A target in its name
/// takes precedence.
fn with_target(limit: AnyLimit, target: Utilisation) -> AnyLimit {
    let text = limit.to_string();
    let (name, suffix) = text.split_at(text.find(':').unwrap_or(text.len()));
    if name != "taut" || suffix.contains('%') {
        return limit;
    }
    let with_target = format!("taut:{target}{suffix}").parse();
    with_target.expect("a target is allowed in the name")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_of_a_trace_keeps_an_explicit_target() {
        let wanted = Utilisation::from_ppm(980_000).expect("in range");
        for (text, expected) in [
            ("taut", "taut:98%"),
            ("taut:packets", "taut:98%:packets"),
            ("taut:2ms", "taut:98%:2ms"),
            ("taut:packets:2ms", "taut:98%:packets:2ms"),
            ("taut:99.9%", "taut:99.9%"),
            ("taut:99.9%:packets:2ms", "taut:99.9%:packets:2ms"),
            ("taut:99.5%:2ms", "taut:99.5%:2ms"),
            ("dql:2ms", "dql:2ms"),
            ("dql:packets", "dql:packets"),
            ("40k:2ms", "40k:2ms"),
        ] {
            let limit: AnyLimit = text.parse().expect("a limit");
            assert_eq!(limit.to_string(), text, "as it was spelled");
            assert_eq!(with_target(limit, wanted).to_string(), expected);
        }
    }
}
