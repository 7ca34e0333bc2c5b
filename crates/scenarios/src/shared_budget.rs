//! Several queues on one link, each with a limit that it grew alone, and a budget over all of them.

mod smallest;

use serde_json::{Value, json};
use taut_path::AnyLimit;

use crate::one_queue::{law_bytes, saturated};
use crate::prelude::*;
use smallest::SmallestBudget;
use taut_sim::multi_queue_bench::{MultiQueueConfig, MultiQueueReport, SharedBudget, observe};
use taut_sim::nic::InterruptRule;
use taut_sim::single_queue_bench::SingleQueueConfig;

/// More queues than a NIC has for as many cores.
const MAX_QUEUES: u32 = 256;

/// More than a second of the fastest link is no budget, and no limit counts it.
const MAX_BUDGET: Size = Size(1 << 30);

/// Bytes in flight together without a budget, as it was found for eight queues at 1 Gbit/s.
const KNOWN_BYTES: f64 = 206_000.0;
/// How long that lasts, in s: a limit is not cut before its hold time has passed.
const KNOWN_S: f64 = 1.0;

settings! {
    SharedBudgetSettings, "shared-budget" {
        /// Link rate.
        rate: Rate => validation::rate,
        /// Queues of the one device.
        queues: u32 => validation::within(1..=MAX_QUEUES),
        /// Size of each packet.
        size: Size => validation::size,
        /// From interrupt to interrupt of each queue.
        cadence: Time where validation::up_to(*alone),
        /// Descriptors of each queue's ring.
        ring: u32 => validation::ring,
        /// How long each queue has the link to itself first.
        alone: Time => validation::duration,
        /// How long none sends then. More than a hold time ends the windows in which the queues saw
        /// no slack, as with queues that were busy at different times.
        pause: Time => validation::duration,
        /// How long all send together in the end.
        together: Time => validation::duration,
        /// The fixed budget.
        budget: Size => validation::within(Size(1)..=MAX_BUDGET),
        /// How often the dynamic budget is told what all queues completed.
        interval: Time where validation::up_to(*together),
    }
}

/// What is run.
pub enum SharedBudgetCase {
    /// The search for the least fixed budget that is enough.
    LeastFixed,
    /// A budget, by name.
    Budget(&'static str, SharedBudget),
}

/// What came of it.
pub enum SharedBudgetOutcome {
    /// What was searched.
    LeastFixed(SmallestBudget),
    /// What was seen.
    Budget(MultiQueueReport),
}

/// A budget of so many bytes.
fn fixed(bytes: u32) -> SharedBudget {
    SharedBudget::Rule {
        limit: AnyLimit::bytes(bytes),
        interval_ns: 0,
    }
}

impl SharedBudgetSettings {
    fn bench(&self, seed: u64) -> SingleQueueConfig {
        let interrupt = InterruptRule::every(self.cadence.0);
        saturated(self.rate, self.ring, self.size.0 as u32, interrupt, seed)
    }

    fn device(&self, seed: u64) -> MultiQueueConfig {
        let bench = self.bench(seed);
        MultiQueueConfig {
            nic: bench.nic,
            queues: self.queues as usize,
            object_bytes: self.size.0 as u32,
            backlog_packets: bench.backlog_packets,
            alone_ns: self.alone.0,
            pause_ns: self.pause.0,
            together_ns: self.together.0,
        }
    }

    /// What one queue needs that has the link to itself, in bytes.
    fn law_bytes(&self) -> f64 {
        law_bytes(&self.bench(0), self.cadence.0)
    }

    fn utilisation(&self, seen: &MultiQueueReport) -> f64 {
        let link_bytes = self.rate.0 as f64 * self.together.0 as f64 / 8e9;
        seen.time_bytes.iter().sum::<u64>() as f64 / link_bytes
    }

    fn mean_bytes(&self, seen: &MultiQueueReport) -> f64 {
        seen.byte_ns as f64 / self.together.0 as f64
    }

    /// In steps of a quarter of a packet.
    fn least_fixed(&self, device: &MultiQueueConfig) -> Result<SmallestBudget, ScenarioError> {
        let step_bytes = (self.size.0 as u32 / 4).max(1);
        // The sum of what all queues need alone is enough, if anything is.
        let most_bytes = (self.law_bytes() * f64::from(self.queues)).min(MAX_BUDGET.0 as f64);
        SmallestBudget::find(step_bytes, most_bytes as u32, |bytes| {
            let seen = observe(device, fixed(bytes))?;
            Ok((self.utilisation(&seen), self.mean_bytes(&seen)))
        })
    }

    fn row(&self, budget: &str, seen: &MultiQueueReport, least: &SmallestBudget) -> Value {
        let got = &seen.time_bytes;
        let (fewest, most) = (got.iter().min(), got.iter().max());
        let share = |bytes: Option<&u64>| bytes.copied().unwrap_or(0) as f64;
        let mean_bytes = self.mean_bytes(seen);
        let of_least = least.bytes.map(|_| mean_bytes / least.mean_bytes);
        json!({
            "budget": budget,
            "own_limits_bytes": own_limits_bytes(seen),
            "law_bytes": self.law_bytes(),
            "in_flight_peak_bytes": seen.peak_bytes,
            "in_flight_mean_bytes": mean_bytes,
            "above_one_limit_ms": seen.above_ns as f64 / 1e6,
            "full_until_ms": full_until_ns(seen) as f64 / 1e6,
            "utilisation": self.utilisation(seen),
            "least_of_most_served": share(fewest) / share(most).max(1.0),
            "least_fixed_bytes": least.bytes,
            "mean_of_least_fixed": of_least,
        })
    }
}

fn own_limits_bytes(seen: &MultiQueueReport) -> u64 {
    seen.limits_bytes.iter().copied().map(u64::from).sum()
}

/// Until when nine tenths of what the own limits admit was in flight, in ns.
fn full_until_ns(seen: &MultiQueueReport) -> u64 {
    let full = |&&(_, bytes): &&(u64, u64)| bytes * 10 >= own_limits_bytes(seen) * 9;
    let last = seen.samples.iter().rfind(full);
    last.map_or(0, |&(at_ns, _)| at_ns)
}

/// What is known of the device without a budget.
fn figures(seen: &MultiQueueReport) -> Vec<Figure> {
    let figure = |what: &str, published, value, unit| {
        let id = format!("eight queues without a budget, {what}");
        Figure::new(id, &[published], value, unit, &["cadence"])
    };
    let peak_bytes = seen.peak_bytes as f64;
    let for_s = full_until_ns(seen) as f64 / 1e9;
    vec![
        figure("in flight, peak", KNOWN_BYTES, peak_bytes, "bytes"),
        figure("for", KNOWN_S, for_s, "s"),
    ]
}

fn series(row: &str, seen: &MultiQueueReport) -> Vec<Series> {
    let in_flight = seen.samples.iter();
    let in_flight = in_flight.map(|&(at_ns, bytes)| (at_ns, bytes as f64));
    let mut found = vec![Series::bytes(row, "in flight", in_flight)];
    if !seen.budget.is_empty() {
        let budget = seen.budget.iter();
        let budget = budget.map(|&(at_ns, bytes)| (at_ns, f64::from(bytes)));
        found.push(Series::bytes(row, "limit", budget));
    }
    found
}

impl Scenario for SharedBudgetSettings {
    const ABOUT: &'static str = "queues that grew alone share one link, without and with a budget";
    const HAS_FIGURES: bool = true;

    type Case = SharedBudgetCase;
    type Outcome = SharedBudgetOutcome;

    fn cases(&self, _seed: u64) -> Result<Vec<SharedBudgetCase>, ScenarioError> {
        let rule = |limit| SharedBudget::Rule {
            limit,
            interval_ns: self.interval.0,
        };
        Ok(vec![
            SharedBudgetCase::LeastFixed,
            SharedBudgetCase::Budget("none", SharedBudget::None),
            SharedBudgetCase::Budget("fixed", fixed(self.budget.0 as u32)),
            SharedBudgetCase::Budget("dql", rule(AnyLimit::dql())),
            SharedBudgetCase::Budget("taut", rule(AnyLimit::taut())),
        ])
    }

    fn name(&self, case: &SharedBudgetCase) -> String {
        match case {
            SharedBudgetCase::LeastFixed => "least fixed budget".to_owned(),
            SharedBudgetCase::Budget(name, _) => (*name).to_owned(),
        }
    }

    fn run(
        &self,
        case: &SharedBudgetCase,
        seed: u64,
    ) -> Result<SharedBudgetOutcome, ScenarioError> {
        let device = self.device(seed);
        match case {
            SharedBudgetCase::LeastFixed => {
                Ok(SharedBudgetOutcome::LeastFixed(self.least_fixed(&device)?))
            }
            SharedBudgetCase::Budget(_, budget) => Ok(SharedBudgetOutcome::Budget(observe(
                &device,
                budget.clone(),
            )?)),
        }
    }

    /// Without the least fixed budget there is nothing to compare the others with.
    fn found(&self, ran: &[(&SharedBudgetCase, &SharedBudgetOutcome)]) -> Found {
        let mut found = Found::default();
        let Some((_, SharedBudgetOutcome::LeastFixed(least))) = ran.first() else {
            return found;
        };
        for (case, outcome) in ran {
            if let (SharedBudgetCase::Budget(name, budget), SharedBudgetOutcome::Budget(seen)) =
                (case, outcome)
            {
                found.rows.push(self.row(name, seen, least));
                found.series.extend(series(name, seen));
                if *budget == SharedBudget::None {
                    found.figures.extend(figures(seen));
                }
            }
        }
        found
    }
}
