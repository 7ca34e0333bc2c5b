//! Several queues on one link, each with a limit that it learned alone, and a budget over all of
//! them.

use serde_json::{Value, json};
use taut_path::AnyLimit;

use crate::one_queue::{law_bytes, saturated};
use crate::prelude::*;
use taut_sim::bisection::smallest_above;
use taut_sim::multi_queue_bench::{MultiQueueConfig, MultiQueueReport, SharedBudget, observe};
use taut_sim::nic::InterruptRule;
use taut_sim::single_queue_bench::SingleQueueConfig;

/// Maximum number of queues: more than a NIC has for the same number of cores.
const MAX_QUEUES: u32 = 256;

/// Maximum budget: more than a second of the fastest link, and the maximum of a limit.
const MAX_BUDGET: Size = Size(1 << 30);

/// Bytes in flight in all queues without a budget, as measured for eight queues at 1 Gbit/s.
const KNOWN_BYTES: f64 = 206_000.0;
/// Duration of that state, in s: a limit does not decrease before its hold time has passed.
const KNOWN_S: f64 = 1.0;

settings! {
    SharedBudgetSettings, "shared-budget" {
        /// Link rate.
        rate: Rate => validation::rate,
        /// Queues of the one device.
        queues: u32 => validation::within(1..=MAX_QUEUES),
        /// Size of each packet.
        size: Size => validation::size,
        /// Interrupt interval of each queue.
        coalesce: Time where validation::up_to(*alone),
        /// Descriptors of each queue's ring.
        ring: u32 => validation::ring,
        /// Time for which each queue sends alone first.
        alone: Time => validation::duration,
        /// Pause after these phases. If it exceeds the hold time, the windows without slack end, as
        /// with queues that were busy at different times.
        pause: Time => validation::duration,
        /// Time for which all queues send together at the end.
        together: Time => validation::duration,
        /// The fixed budget.
        budget: Size => validation::within(Size(1)..=MAX_BUDGET),
        /// Interval between completion batches of the dynamic budget.
        interval: Time where validation::up_to(*together),
    }
}

/// Minimum utilisation of the link for a sufficient budget.
const ENOUGH: f64 = 0.999;

/// The smallest sufficient fixed budget, and its mean bytes in flight; `None` if none suffices.
type SmallestBudget = Option<(u32, f64)>;

/// The outcome of a case.
pub enum SharedBudgetOutcome {
    /// Result of the search.
    SmallestFixed(SmallestBudget),
    /// Results of a budget.
    Budget(MultiQueueReport),
}

/// Returns a budget of this many bytes.
fn fixed(bytes: u32) -> SharedBudget {
    SharedBudget::Rule {
        limit: AnyLimit::bytes(bytes),
        interval_ns: 0,
    }
}

impl SharedBudgetSettings {
    fn bench(&self, seed: u64) -> SingleQueueConfig {
        let interrupt = InterruptRule::every(self.coalesce.0);
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

    /// Returns the required in-flight of a queue that has the link alone, in bytes.
    fn law_bytes(&self) -> f64 {
        law_bytes(&self.bench(0), self.coalesce.0)
    }

    fn utilisation(&self, seen: &MultiQueueReport) -> f64 {
        let link_bytes = self.rate.0 as f64 * self.together.0 as f64 / 8e9;
        seen.time_bytes.iter().sum::<u64>() as f64 / link_bytes
    }

    fn mean_bytes(&self, seen: &MultiQueueReport) -> f64 {
        seen.byte_ns as f64 / self.together.0 as f64
    }

    /// Searches in steps of a quarter of a packet; a larger budget never has a lower utilisation.
    fn smallest_fixed(&self, device: &MultiQueueConfig) -> Result<SmallestBudget, ScenarioError> {
        let step_bytes = (self.size.0 as u32 / 4).max(1);
        // If any budget is sufficient, the sum of all queues' own requirements is.
        let max_bytes = (self.law_bytes() * f64::from(self.queues)).min(MAX_BUDGET.0 as f64);
        let max = max_bytes as u32 / step_bytes + 1;
        let mut smallest = None;
        smallest_above(0, max + 1, 1, |steps| {
            let seen = observe(device, fixed(steps * step_bytes))?;
            let is_enough = self.utilisation(&seen) >= ENOUGH;
            if is_enough {
                smallest = Some((steps * step_bytes, self.mean_bytes(&seen)));
            }
            Ok::<_, ScenarioError>(is_enough)
        })?;
        Ok(smallest)
    }

    fn row(&self, budget: &str, seen: &MultiQueueReport, smallest: SmallestBudget) -> Value {
        let got = &seen.time_bytes;
        let (fewest, max) = (got.iter().min(), got.iter().max());
        let share = |bytes: Option<&u64>| bytes.copied().unwrap_or(0) as f64;
        let mean_bytes = self.mean_bytes(seen);
        json!({
            "budget": budget,
            "own_limits_bytes": own_limits_bytes(seen),
            "law_bytes": self.law_bytes(),
            "in_flight_peak_bytes": seen.peak_bytes,
            "in_flight_mean_bytes": mean_bytes,
            "above_one_limit_ms": seen.above_ns as f64 / 1e6,
            "full_until_ms": full_until_ns(seen) as f64 / 1e6,
            "utilisation": self.utilisation(seen),
            "min_vs_max_served": share(fewest) / share(max).max(1.0),
            "optimum_bytes": smallest.map(|(bytes, _)| bytes),
            "mean_of_least_fixed": smallest.map(|(_, smallest)| mean_bytes / smallest),
        })
    }
}

fn own_limits_bytes(seen: &MultiQueueReport) -> u64 {
    seen.limits_bytes.iter().copied().map(u64::from).sum()
}

/// Returns the time until which nine tenths of the own limits were in flight, in ns.
fn full_until_ns(seen: &MultiQueueReport) -> u64 {
    let full = |&&(_, bytes): &&(u64, u64)| bytes * 10 >= own_limits_bytes(seen) * 9;
    let last = seen.samples.iter().rfind(full);
    last.map_or(0, |&(at_ns, _)| at_ns)
}

/// Compares a run without a budget with the known results.
fn figures(seen: &MultiQueueReport) -> Vec<Figure> {
    let figure = |what: &str, published, value, unit| {
        let id = format!("eight queues without a budget, {what}");
        Figure::new(id, &[published], value, unit, &["coalesce"])
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
    /// A budget with its name; `None` is the search for the smallest sufficient fixed one.
    type Case = (&'static str, Option<SharedBudget>);
    type Outcome = SharedBudgetOutcome;

    fn cases(&self, _seed: u64) -> Cases<Self> {
        let rule = |limit| SharedBudget::Rule {
            limit,
            interval_ns: self.interval.0,
        };
        let cases = [
            ("optimum, fixed budget", None),
            ("none", Some(SharedBudget::None)),
            ("fixed", Some(fixed(self.budget.0 as u32))),
            ("dql", Some(rule(AnyLimit::dql()))),
            ("taut", Some(rule(AnyLimit::taut()))),
        ];
        Ok(cases.map(|case| (case.0.to_owned(), case)).into())
    }

    fn run(&self, case: &Self::Case, seed: u64) -> Result<SharedBudgetOutcome, ScenarioError> {
        let device = self.device(seed);
        Ok(match &case.1 {
            None => SharedBudgetOutcome::SmallestFixed(self.smallest_fixed(&device)?),
            Some(budget) => SharedBudgetOutcome::Budget(observe(&device, budget.clone())?),
        })
    }

    /// The smallest fixed budget is the reference for the others.
    fn results(&self, ran: &[(&Self::Case, &SharedBudgetOutcome)]) -> Results {
        let mut found = Results::default();
        let Some((_, SharedBudgetOutcome::SmallestFixed(smallest))) = ran.first() else {
            return found;
        };
        for ((name, budget), outcome) in ran {
            if let SharedBudgetOutcome::Budget(seen) = outcome {
                found.rows.push(self.row(name, seen, *smallest));
                found.series.extend(series(name, seen));
                if *budget == Some(SharedBudget::None) {
                    found.figures.extend(figures(seen));
                }
            }
        }
        found
    }
}
