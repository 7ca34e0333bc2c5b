//! The rules that are compared, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_path::limit::{Dynamic, Fixed, Limit, LimitSpec, LimitUser, Utilisation};
use taut_path::units;

use super::ground::Ground;
use crate::limit_name::LimitName;
use crate::pattern::Seen;
use crate::scenario::quantity::Time;
use crate::scenario::registry::ScenarioError;

/// A rule, as it is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleName {
    /// `fixed`: the least fixed limit that keeps the pattern's promise.
    Fixed,
    /// `dql every 1ms`: Linux's rule, which hears of completions only that often.
    DynamicEvery(Time),
    /// Whatever else can be chosen as a limit.
    Spec(LimitSpec),
}

const EVERY: &str = "dql every ";

/// The rules of a comparison, the worst first.
pub(super) fn defaults() -> Vec<RuleName> {
    vec![
        RuleName::Spec(LimitSpec::Off),
        RuleName::Fixed,
        RuleName::Spec(LimitSpec::Dynamic),
        RuleName::DynamicEvery(Time::us(200)),
        RuleName::DynamicEvery(Time::ms(1)),
        RuleName::Spec(LimitSpec::Need),
        RuleName::Spec(LimitSpec::TAUT),
    ]
}

impl RuleName {
    /// Runs `ground` with it; `fixed_bytes` is the yardstick.
    pub(super) fn observe(
        self,
        ground: &impl Ground,
        fixed_bytes: Option<u32>,
    ) -> Result<Option<Seen>, ScenarioError> {
        let watched = Watched(ground);
        match (self, fixed_bytes) {
            (Self::Fixed, None) => Ok(None),
            (Self::Fixed, Some(bytes)) => watched.with(Fixed::bytes(bytes)).map(Some),
            (Self::DynamicEvery(period), _) => {
                let limit = Dynamic {
                    cadence_ns: period.0,
                    ..Dynamic::default()
                };
                watched.with(limit).map(Some)
            }
            (Self::Spec(LimitSpec::Off), _) => ground.observe_off().map(Some),
            (Self::Spec(spec @ LimitSpec::TAUT), _) => {
                // The ground says what is wanted of it, unless the rule was told.
                let ppm = libm::round(ground.promise() * 1e6) as u32;
                let wanted =
                    Utilisation::from_ppm(ppm.clamp(Utilisation::LEAST_PPM, Utilisation::MOST_PPM));
                let spec = spec.promising(wanted.unwrap_or_default());
                spec.give_to(watched).map(Some)
            }
            (Self::Spec(spec), _) => spec.give_to(watched).map(Some),
        }
    }
}

struct Watched<'a, G>(&'a G);

impl<G: Ground> LimitUser for Watched<'_, G> {
    type Output = Result<Seen, ScenarioError>;

    fn with<L: Limit + Copy + 'static>(self, limit: L) -> Self::Output {
        self.0.observe(limit)
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::DynamicEvery(period) => write!(f, "{EVERY}{period}"),
            Self::Spec(spec) => LimitName(*spec).fmt(f),
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
        let spec = text.parse().map(|spec| match spec {
            // A rule has one name in every table.
            LimitSpec::Ladder(promise) => Self::Spec(LimitSpec::Taut(promise)),
            spec => Self::Spec(spec),
        });
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
