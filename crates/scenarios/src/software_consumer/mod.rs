//! E12: the device is a polling thread, on the sender's core or on a separate one.

mod names;

use taut_report::number::one_decimal;

use crate::prelude::*;
use taut_path::AnyLimit;
use taut_sim::consumer::{ConsumerConfig, ConsumerReport, FixedLimits, Notify, observe};

use crate::serde_text::as_texts;

pub use names::{Consumer, ConsumerCore, LimitName, SoftwareConsumerCase};

const MAX_COST: Time = Time(1_000_000_000);
const MAX_RING: u32 = 4_096;
/// Maximum values of a list: above the number of useful ones.
const MAX_VALUES: usize = 20;

/// Minimum share of the throughput of the best fixed limit: the target of `taut`.
const ENOUGH: f64 = 0.999;

settings! {
    SoftwareConsumerSettings, "software-consumer" {
        /// Cost of a packet for a slow consumer.
        slow_cost: Time => validation::within(Time(1)..=MAX_COST),
        /// Cost of a packet for a fast consumer on the sender's core.
        fast_cost_shared_core: Time => validation::within(Time(1)..=MAX_COST),
        /// Cost of a packet for a fast consumer on a separate core.
        fast_cost_separate_core: Time => validation::within(Time(1)..=MAX_COST),
        /// Cost of a packet for the sender.
        sender_cost: Time => validation::within(Time(1)..=MAX_COST),
        /// Switch from one thread to the other on a shared core.
        switch_shared_core: Time => validation::up_to(MAX_COST),
        /// Time from a wake to the first work on two cores.
        switch_separate_core: Time => validation::up_to(MAX_COST),
        /// Cost of a wake; on two cores only.
        wake_cost: Time => validation::up_to(MAX_COST),
        /// Slots of the ring.
        ring: u32 => validation::within(2..=MAX_RING),
        /// Maximum packets of a poll.
        poll: u32 => validation::within(1..=MAX_RING),
        /// Units of a packet where a limit counts bytes.
        size: Size => validation::within(Size(1)..=Size(65_536)),
        /// Speeds of the consumer.
        consumers: Vec<Consumer> => validation::each(1..=MAX_VALUES, validation::any),
        /// Cores of the consumer.
        cores: Vec<ConsumerCore> => validation::each(1..=MAX_VALUES, validation::any),
        /// When the queue is notified of completions.
        #[serde(with = "as_texts")]
        notify: Vec<Notify> => validation::each(1..=MAX_VALUES, validation::any),
        /// The limits.
        #[serde(with = "as_texts")]
        limits: Vec<LimitName>,
        /// Mean interval between pings.
        ping: Time => validation::within(Time(1_000)..=Time(10_000_000_000)),
        /// Warm-up of each row.
        warm_up: Time => validation::duration,
        /// Measured time of each row.
        duration: Time => validation::duration,
    }
}

impl SoftwareConsumerSettings {
    fn config(&self, case: &SoftwareConsumerCase, seed: u64) -> ConsumerConfig {
        let consumer = match (case.consumer, case.core) {
            (Consumer::Slow, _) => self.slow_cost,
            (Consumer::Fast, ConsumerCore::Shared) => self.fast_cost_shared_core,
            (Consumer::Fast, ConsumerCore::Separate) => self.fast_cost_separate_core,
        };
        let switch = match case.core {
            ConsumerCore::Shared => self.switch_shared_core,
            ConsumerCore::Separate => self.switch_separate_core,
        };
        ConsumerConfig {
            shared_core: case.core == ConsumerCore::Shared,
            consumer_ns: consumer.0,
            sender_ns: self.sender_cost.0,
            switch_ns: switch.0,
            wake_ns: self.wake_cost.0,
            ring: self.ring,
            poll: self.poll,
            notify: case.notify,
            units: 1,
            ping_ns: self.ping.0,
            seed,
            warm_ns: self.warm_up.0,
            end_ns: self.warm_up.0 + self.duration.0,
        }
    }
}

impl Scenario for SoftwareConsumerSettings {
    type Case = SoftwareConsumerCase;

    fn cases(&self) -> Cases<Self> {
        let mut cases = Vec::new();
        for &consumer in &self.consumers {
            for &core in &self.cores {
                cases.extend(self.notify.iter().map(|&notify| {
                    let name = format!("{consumer}, {core} core, notify {notify}");
                    let case = SoftwareConsumerCase {
                        consumer,
                        core,
                        notify,
                    };
                    (name, case)
                }));
            }
        }
        Ok(cases)
    }

    fn run(&self, case: &SoftwareConsumerCase, seed: u64) -> Result<Results, ScenarioError> {
        let (config, size_bytes) = (self.config(case, seed), self.size.0 as u32);
        let fixed = FixedLimits::new(&config)?;
        let smallest = observe(&config, AnyLimit::bytes(fixed.smallest(ENOUGH)))?;
        let mut seen = Vec::new();
        for name in &self.limits {
            let packets = match name {
                LimitName::Fixed(share) => fixed.smallest(f64::from(share.ppm()) / 1e6),
                LimitName::Rule { .. } => 0,
            };
            let config = ConsumerConfig {
                units: name.units(size_bytes),
                ..config
            };
            seen.push((name, observe(&config, name.limit(size_bytes, packets))?));
        }
        let optimum = (&smallest, fixed.best());
        let rows = seen.iter();
        let rows = rows.map(|(limit, seen)| row(case, limit, seen, optimum));
        let mut found = Results {
            rows: rows.collect(),
            ..Results::default()
        };
        compare(&mut found, case, &seen);
        Ok(found)
    }
}

fn ping_us(seen: &ConsumerReport, share: f64) -> f64 {
    one_decimal(seen.ping_ns.value_at_quantile(share) as f64 / 1e3)
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Returns a row. `smallest` has the smallest sufficient fixed limit, and `best_per_s` is the
/// throughput of the best one.
fn row(
    case: &SoftwareConsumerCase,
    limit: &LimitName,
    seen: &ConsumerReport,
    (smallest, best_per_s): (&ConsumerReport, f64),
) -> Value {
    let ping_p99 = |seen: &ConsumerReport| seen.ping_ns.value_at_quantile(0.99) as f64;
    json!({
        "consumer": case.consumer,
        "core": case.core.to_string(),
        "limit": limit.to_string(),
        "notify": case.notify.to_string(),
        "pps": seen.packets_per_s.round(),
        "limit_p50": match limit {
            LimitName::Rule { limit, .. } if limit.is_off() => Value::Null,
            _ => json!(one_decimal(seen.limit_p50)),
        },
        "inflight_mean": one_decimal(seen.in_flight_mean),
        "ping_us": { "p50": ping_us(seen, 0.5), "p99": ping_us(seen, 0.99) },
        // Rounded to a hundred-thousandth: the target is exact to a thousandth.
        "throughput_vs_best": (seen.packets_per_s / best_per_s * 1e5).round() / 1e5,
        "inflight_vs_optimum": thousandths(seen.in_flight_mean / smallest.in_flight_mean),
        "ping_vs_optimum": thousandths(ping_p99(seen) / ping_p99(smallest)),
    })
}

/// Compares limits that count packets with the published results. The published pairs of
/// interfaces were polled on the sender's core.
fn compare(
    found: &mut Results,
    case: &SoftwareConsumerCase,
    limits: &[(&LimitName, ConsumerReport)],
) {
    if case.core != ConsumerCore::Shared {
        return;
    }
    let mut compare = |what: &str, value| {
        let id = format!("E12, {}, notify {}, {what}", case.consumer, case.notify);
        found.compare(id, value);
    };
    let seen = |name: &str| {
        let found = limits.iter().find(|(limit, _)| limit.to_string() == name);
        found.map(|(_, seen)| seen)
    };
    let ping_ms = |seen: &ConsumerReport| seen.ping_ns.mean() / 1e6;
    let (off, dql) = (seen("off"), seen("dql:packets"));
    if let Some(off) = off {
        compare("no limit, ping", ping_ms(off));
    }
    if let Some(dql) = dql {
        compare("dql, limit", dql.limit_p50);
        compare("dql, ping", ping_ms(dql));
    }
    if let (Some(off), Some(dql)) = (off, dql) {
        let lost = 100.0 * (1.0 - dql.packets_per_s / off.packets_per_s);
        compare("dql, throughput lost", lost);
    }
}
