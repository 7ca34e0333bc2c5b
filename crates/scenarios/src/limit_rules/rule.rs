//! The rules that are compared, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_path::limit::{Ladder, Utilisation};
use taut_path::{AnyLimit, units};

use super::ground::Ground;
use crate::error::ScenarioError;
use crate::quantity::Time;
use taut_sim::lane::Rule;
use taut_sim::pattern::Seen;

/// A rule, as it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleName {
    /// `fixed`: the least fixed limit that keeps the pattern's promise.
    Fixed,
    /// `dql every 1ms`: Linux's rule, which hears of completions only that often.
    DynamicEvery(Time),
    /// Whatever else can be chosen as a limit.
    Limit(AnyLimit),
}

const EVERY: &str = "dql every ";

impl RuleName {
    /// Runs `ground` with it; `fixed_bytes` is the yardstick.
    pub(super) fn observe(
        &self,
        ground: &impl Ground,
        fixed_bytes: Option<u32>,
    ) -> Result<Option<Seen>, ScenarioError> {
        let rule = match self {
            Self::Fixed => match fixed_bytes {
                Some(bytes) => Rule::bytes(bytes),
                None => return Ok(None),
            },
            Self::DynamicEvery(period) => Rule::dql_every(period.0),
            Self::Limit(limit) if limit.is_off() => return ground.observe_off().map(Some),
            // The ground says what is wanted of it, unless the rule was told.
            Self::Limit(limit) if *limit == AnyLimit::taut() => promising(ground.promise()).into(),
            Self::Limit(limit) => limit.clone().into(),
        };
        ground.observe(&rule).map(Some)
    }
}

/// The rule that promises so much of the link's time, or what comes nearest.
fn promising(utilisation: f64) -> AnyLimit {
    let ppm = libm::round(utilisation * 1e6) as u32;
    let ppm = ppm.clamp(Utilisation::LEAST_PPM, Utilisation::MOST_PPM);
    let wanted = Utilisation::from_ppm(ppm).unwrap_or_default();
    AnyLimit::new(Ladder::new(wanted))
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::DynamicEvery(period) => write!(f, "{EVERY}{period}"),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

impl FromStr for RuleName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "fixed" {
            return Ok(Self::Fixed);
        }
        if let Some(period) = text.strip_prefix(EVERY) {
            let period = units::parse_time_ns(period).map_err(|error| error.to_string())?;
            return Ok(Self::DynamicEvery(Time(period)));
        }
        let spec = text.parse().map(Self::Limit);
        spec.map_err(|error: taut_path::limit::ParseLimitError| {
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
