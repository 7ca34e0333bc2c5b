//! Several queues on one link, each with a limit that it learned alone, and a budget over all of
//! them.

use taut_path::AnyLimit;

use crate::one_queue::{law_bytes, saturated};
use crate::prelude::*;
use crate::single_queue::over_time;
use taut_sim::bisection::smallest_above;
use taut_sim::multi_queue_bench::{MultiQueueConfig, MultiQueueReport, SharedBudget, observe};
use taut_sim::nic::InterruptRule;
use taut_sim::single_queue_bench::SingleQueueConfig;
use taut_sim::time_series::Sample;

/// Maximum number of queues: more than a NIC has for the same number of cores.
const MAX_QUEUES: u32 = 256;

/// Maximum budget: more than a second of the fastest link, and the maximum of a limit.
const MAX_BUDGET: Size = Size(1 << 30);

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
        let byte_ns: u128 = seen.series.in_flight.iter().map(|it| it.byte_ns).sum();
        byte_ns as f64 / self.together.0 as f64
    }

    /// Returns the smallest sufficient fixed budget and its mean bytes in flight; `null` if none
    /// suffices. Searches in steps of a quarter of a packet; a larger budget never has a lower
    /// utilisation.
    fn smallest_fixed(&self, device: &MultiQueueConfig) -> Result<Value, ScenarioError> {
        let step_bytes = (self.size.0 as u32 / 4).max(1);
        // If any budget is sufficient, the sum of all queues' own requirements is.
        let max_bytes = (self.law_bytes() * f64::from(self.queues)).min(MAX_BUDGET.0 as f64);
        let max = max_bytes as u32 / step_bytes + 1;
        let mut smallest = json!({"optimum_bytes": null, "mean_bytes": null});
        smallest_above(0, max + 1, 1, |steps| {
            let bytes = steps * step_bytes;
            let seen = observe(device, fixed(bytes))?;
            let is_enough = self.utilisation(&seen) >= ENOUGH;
            if is_enough {
                let mean_bytes = self.mean_bytes(&seen);
                smallest = json!({"optimum_bytes": bytes, "mean_bytes": mean_bytes});
            }
            Ok::<_, ScenarioError>(is_enough)
        })?;
        Ok(smallest)
    }

    fn row(&self, budget: &str, seen: &MultiQueueReport) -> Value {
        let got = &seen.time_bytes;
        let (fewest, max) = (got.iter().min(), got.iter().max());
        let share = |bytes: Option<&u64>| bytes.copied().unwrap_or(0) as f64;
        json!({
            "budget": budget,
            "own_limits_bytes": own_limits_bytes(seen),
            "law_bytes": self.law_bytes(),
            "in_flight_peak_bytes": peak_bytes(seen),
            "in_flight_mean_bytes": self.mean_bytes(seen),
            "full_until_ms": full_until_ns(seen) as f64 / 1e6,
            "utilisation": self.utilisation(seen),
            "min_vs_max_served": share(fewest) / share(max).max(1.0),
        })
    }
}

fn own_limits_bytes(seen: &MultiQueueReport) -> u64 {
    seen.limits_bytes.iter().copied().map(u64::from).sum()
}

/// Returns the time until which nine tenths of the own limits were in flight, in ns.
fn full_until_ns(seen: &MultiQueueReport) -> u64 {
    let full = |it: &Sample| it.peak_bytes * 10 >= own_limits_bytes(seen) * 9;
    let last = seen.series.in_flight.iter().rposition(full);
    last.map_or(0, |step| step as u64 * seen.series.step_ns)
}

fn peak_bytes(seen: &MultiQueueReport) -> u64 {
    let samples = seen.series.in_flight.iter();
    samples.map(|it| it.peak_bytes).max().unwrap_or(0)
}

impl Scenario for SharedBudgetSettings {
    /// A budget with its name; `None` is the search for the smallest sufficient fixed one.
    type Case = (&'static str, Option<SharedBudget>);

    fn cases(&self) -> Cases<Self> {
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

    fn run(&self, (name, budget): &Self::Case, seed: u64) -> Result<Results, ScenarioError> {
        let device = self.device(seed);
        let Some(budget) = budget else {
            return Ok(Results::row(self.smallest_fixed(&device)?));
        };
        let seen = observe(&device, budget.clone())?;
        let [limit, in_flight] = over_time::series(name, &seen.series);
        let curves = [in_flight, limit].into_iter();
        let mut found = Results {
            series: curves.filter(|it| !it.points.is_empty()).collect(),
            ..Results::row(self.row(name, &seen))
        };
        if *budget == SharedBudget::None {
            let id = |what| format!("eight queues without a budget, {what}");
            found.compare(id("in flight, peak"), peak_bytes(&seen) as f64);
            found.compare(id("for"), full_until_ns(&seen) as f64 / 1e9);
        }
        Ok(found)
    }

    /// The smallest fixed budget, which is found first, is the reference for the others.
    fn complete(&self, results: &mut Results) {
        if results
            .rows
            .first()
            .is_none_or(|row| !row["budget"].is_null())
        {
            *results = Results::default();
            return;
        }
        let smallest = results.rows.remove(0);
        for row in &mut results.rows {
            row["optimum_bytes"] = smallest["optimum_bytes"].clone();
            let mean_bytes = row["in_flight_mean_bytes"].as_f64();
            let both = mean_bytes.zip(smallest["mean_bytes"].as_f64());
            row["mean_of_least_fixed"] = both.map(|(mean, smallest)| mean / smallest).into();
        }
    }
}
