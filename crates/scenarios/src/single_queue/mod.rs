//! One queue over time: the converged limit (E4), its ramp-up (E5), aperiodic completions (E6), a
//! link that changes its rate (E9), and the cost of a limit (E11).

mod compared;
pub(crate) mod over_time;
mod phases;
mod settled;
mod traffic;

use serde::{Deserialize, Serialize};
use taut_sim::single_queue_bench::{Rule, observe};

use crate::limit_rules::RuleName;
use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::Validation;
use traffic::{MAX_VALUES, Traffic};

settings! {
    SingleQueueSettings, "right-size" {
        /// Content of the rows.
        show: Show => validation::any,
        /// Limits, each with all of the traffic; `fixed` is the smallest sufficient one.
        #[serde(with = "as_texts")]
        rules: Vec<RuleName> where validation::each(1..=20, shown_rule(*show)),
        /// Link rates, each for an equal part of the run.
        rates: Vec<Rate> => validation::each(1..=MAX_VALUES, validation::rate),
        /// Packet sizes, in turn.
        sizes: Vec<Size> => validation::each(1..=MAX_VALUES, validation::size),
        /// Descriptors of the ring.
        ring: u32 => validation::ring,
        /// Interrupt interval.
        coalesce: Time where validation::up_to(*duration),
        /// Sampling interval for the delay of a new packet of high priority; 0 takes no samples.
        sample: Time where sampled(*duration),
        /// Warm-up.
        warm_up: Time => validation::within(Time(0)..=validation::MAX_DURATION),
        /// Measured time.
        duration: Time => validation::duration,
        /// Workloads and completion patterns.
        traffic: Vec<Traffic> where validation::each(1..=100, shown_traffic(*show, *duration)),
    }
}

/// Content of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// The converged limit.
    Settled,
    /// The ramp-up of the limit.
    OverTime,
    /// The limit at each rate.
    Phases,
    /// Each rule compared with no limit and with the smallest sufficient limit.
    Compared,
}

/// Requires no sampling, or a sampling interval that is not too short.
fn sampled(duration: Time) -> impl Fn(&str, &Time) -> Validation {
    move |key, sample| match sample.0 {
        0 => Ok(()),
        _ => validation::within(Time(1_000)..=duration)(key, sample),
    }
}

/// Rejects `fixed` except in a comparison, which finds the smallest sufficient limit.
fn shown_rule(show: Show) -> impl Fn(&str, &RuleName) -> Validation {
    move |key, rule| match rule {
        RuleName::Fixed if show != Show::Compared => Err(format!(
            "{key} has fixed; allowed: a limit, or fixed with show = \"compared\""
        )),
        _ => Ok(()),
    }
}

/// Rejects a TCP stream except for time series.
fn shown_traffic(show: Show, duration: Time) -> impl Fn(&str, &Traffic) -> Validation {
    move |key, traffic| {
        let of_traffic = |error| format!("{key} {:?}: {error}", traffic.name);
        traffic.check(duration).map_err(of_traffic)?;
        if let Some(tcp) = traffic.tcp.as_ref().filter(|_| show != Show::OverTime) {
            return Err(of_traffic(format!(
                "tcp is {tcp:?}; allowed: no tcp, or show = \"over-time\""
            )));
        }
        Ok(())
    }
}

/// Traffic with one rule, or with all compared rules.
pub struct SingleQueueCase {
    traffic: Traffic,
    rule: Option<Rule>,
}

impl SingleQueueSettings {
    /// Returns the rules that are limits.
    fn limits(&self) -> impl Iterator<Item = Rule> {
        let limit = |name: &RuleName| match name {
            RuleName::Fixed => None,
            RuleName::Rule(rule) => Some(rule.clone()),
        };
        self.rules.iter().filter_map(limit)
    }

    /// Returns the name of a row: its traffic or its rule where there are several.
    fn row_name(&self, traffic: &Traffic, rule: &Rule) -> String {
        match (self.traffic.len(), self.rules.len()) {
            (1, _) => rule.to_string(),
            (_, 1) => traffic.name.clone(),
            _ => format!("{}: {rule}", traffic.name),
        }
    }

    fn run_one(&self, traffic: &Traffic, rule: &Rule, seed: u64) -> Result<Results, ScenarioError> {
        if let Some(gso_packet) = traffic.gso_packet().map_err(ScenarioError::Setting)? {
            let (card, end_ns) = (self.tcp_card(traffic, seed), self.duration_of(traffic).0);
            let (series, utilisation) =
                over_time::run_tcp_stream(card, gso_packet, &rule.limit, end_ns)?;
            return Ok(self.over_time(traffic, rule, &series, utilisation));
        }
        let bench = self.bench(traffic, seed);
        let seen = observe(&bench, rule)?;
        Ok(match self.show {
            Show::Phases => self.phases(traffic, rule, &bench, &seen),
            Show::OverTime => self.over_time(traffic, rule, &seen.series, seen.utilisation),
            Show::Settled | Show::Compared => self.settled(traffic, &bench, &seen),
        })
    }
}

impl Scenario for SingleQueueSettings {
    type Case = SingleQueueCase;

    /// Returns the traffic under each rule, unless rules are compared.
    fn cases(&self) -> Cases<Self> {
        let with = |rule: Option<Rule>| {
            let traffic = self.traffic.iter().cloned();
            traffic.map(move |traffic| {
                let rule = rule.clone();
                let name = match &rule {
                    Some(rule) => self.row_name(&traffic, rule),
                    None => traffic.name.clone(),
                };
                (name, SingleQueueCase { traffic, rule })
            })
        };
        Ok(match self.show {
            Show::Compared => with(None).collect(),
            _ => self.limits().map(Some).flat_map(with).collect(),
        })
    }

    fn run(&self, case: &SingleQueueCase, seed: u64) -> Result<Results, ScenarioError> {
        match &case.rule {
            Some(rule) => self.run_one(&case.traffic, rule, seed),
            None => self.compare(&case.traffic, seed),
        }
    }

    fn described(&self) -> Option<&'static str> {
        match self.show {
            Show::Settled | Show::OverTime => None,
            Show::Phases => Some("phases"),
            Show::Compared => Some("compared"),
        }
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        compared::summary(rows)
    }

    fn traces(&self, seed: u64) -> Vec<TraceRow<'_>> {
        let of_traffic = |traffic| {
            let row = move |rule| {
                let name = self.row_name(traffic, &rule);
                TraceRow::bench(name, self.bench(traffic, seed), rule)
            };
            self.limits().map(row)
        };
        let traffic = self.traffic.iter().filter(|traffic| traffic.tcp.is_none());
        traffic.flat_map(of_traffic).collect()
    }
}
