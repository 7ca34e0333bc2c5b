//! Options of `taut lab software-consumer`.

use std::ops::RangeInclusive;

use clap::Args;
use taut_measure::DEFAULT_SEED;
use taut_path::units;
use taut_path::units::Time;
use taut_scenarios::software_consumer::{Case, Consumer, LimitName, OnCore, When};
use taut_sim::consumer::{ConsumerConfig, Core};

use super::rest::MOST_MEASURED_NS;
use crate::rr::experiment::count_in;
use crate::trace_file::TraceFile;

/// A queue's times are told apart by its clock; nobody waits a second for a packet.
const COSTS: RangeInclusive<Time> = Time(1)..=Time::ms(100);
/// An hour is enough for anything to settle.
const WARM_UPS: RangeInclusive<Time> = Time::ms(10)..=Time::ms(3_600_000);
/// No rest may lie in what is measured; more rounds say more than a longer one.
const LENGTHS: RangeInclusive<Time> = Time::ms(10)..=Time(MOST_MEASURED_NS);
const RINGS: RangeInclusive<u32> = 2..=4_096;
/// Where a limit counts bytes.
const PACKET_BYTES: u32 = 1_514;
/// Mean time from ping to ping.
const PING: Time = Time::ms(1);
/// What the published experiments took a fast packet to cost, where the consumer shares the sender's core
/// and where it does not.
const FAST_SHARED: Time = Time(800);
const FAST_OWN: Time = Time(1_800);

const CONSUMERS: [&str; 2] = ["slow", "fast"];
const CORES: [&str; 2] = ["shared", "own"];
const TOLD: [&str; 3] = ["each", "poll", "100us"];
const LIMITS: [&str; 8] = [
    "fixed:99.9%",
    "fixed:98%",
    "off",
    "dql:packets",
    "dql:packets:min-8",
    "need:packets",
    "taut:packets",
    "taut",
];

/// A sender, and a program that empties its ring, on one core or on two.
#[derive(Debug, Clone, Args)]
pub struct SoftwareConsumer {
    /// How fast the consumer is; said again, this too
    #[arg(long = "consumer", value_name = "slow|fast", default_values = CONSUMERS)]
    pub consumers: Vec<Consumer>,

    /// Where it runs: on the sender's core or on one of its own; said again, this too
    #[arg(long = "core", value_name = "shared|own", default_values = CORES)]
    pub cores: Vec<OnCore>,

    /// When the queue is told: of each packet, once a poll, or put together over a time; said again, this too
    #[arg(long = "told", value_name = "each|poll|TIME", default_values = TOLD)]
    pub told: Vec<When>,

    /// What holds the queue back; said again, this too. `:packets` counts packets, `:min-8` is never
    /// below 8, and fixed:99.9% is the least fixed limit that gives so much of what the best fixed one gives
    #[arg(long = "limit", value_name = "LIMIT", allow_hyphen_values = true, default_values = LIMITS)]
    pub limits: Vec<LimitName>,

    /// What a packet costs a slow consumer (1ns to 100ms)
    #[arg(long, value_name = "TIME", default_value_t = Time::us(100), value_parser = parse_cost)]
    pub slow_packet: Time,

    /// What a packet costs a fast consumer [default: 800ns on the sender's core, 1800ns on its own]
    #[arg(long, value_name = "TIME", value_parser = parse_cost)]
    pub fast_packet: Option<Time>,

    /// What a packet costs the sender
    #[arg(long, value_name = "TIME", default_value_t = Time::us(1), value_parser = parse_cost)]
    pub sender_packet: Time,

    /// Slots of the ring (2 to 4096)
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = count_in(RINGS))]
    pub ring: u32,

    /// Packets of a poll at most (1 to 4096)
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = count_in(1..=4_096))]
    pub poll: u32,

    /// Each row is run so often, one after the other with the others; figures are medians (1 to 99)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count_in(1..=99))]
    pub rounds: u32,

    /// How long each row is measured (10ms to 800ms)
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(500), value_parser = parse_length)]
    pub duration: Time,

    /// How long a limit has to settle before that, with the rests of threads at real-time priority; one that does not
    /// learn is given 20 ms (10ms to 3600s)
    #[arg(long, value_name = "TIME", default_value_t = Time::ms(800), value_parser = parse_warm_up)]
    pub warm_up: Time,

    /// Leave the two threads at ordinary priority, as they are without privilege: they may be interrupted then
    #[arg(long)]
    pub no_real_time: bool,

    /// Seed of the pings
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Print one JSON document instead of the table
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub trace: TraceFile,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl SoftwareConsumer {
    /// Every consumer on every core with every way of telling.
    pub fn cases(&self) -> Vec<Case> {
        Case::all(&self.consumers, &self.cores, &self.told)
    }

    /// What the two do in `case`, with a limit of which a packet is so many units, after `warm_up`.
    pub fn config(&self, case: &Case, units: u32, warm_up: Time, seed: u64) -> ConsumerConfig {
        let fast = match case.core.0 {
            Core::Shared => FAST_SHARED,
            Core::Own => FAST_OWN,
        };
        let consumer = match case.consumer {
            Consumer::Slow => self.slow_packet,
            Consumer::Fast => self.fast_packet.unwrap_or(fast),
        };
        ConsumerConfig {
            core: case.core.0,
            consumer_ns: consumer.0,
            sender_ns: self.sender_packet.0,
            // What they are is measured, not said.
            switch_ns: 0,
            wake_ns: 0,
            ring: self.ring,
            poll: self.poll,
            told: case.told.0,
            units,
            ping_ns: PING.0,
            seed,
            warm_ns: warm_up.0,
            end_ns: warm_up.0 + self.duration.0,
        }
    }

    /// What the least fixed limits of the rows must give of the best one.
    pub fn fixed_shares(&self) -> Vec<f64> {
        let share = |limit: &LimitName| match limit {
            LimitName::Fixed(share) => Some(f64::from(share.ppm()) / 1e6),
            LimitName::Rule { .. } => None,
        };
        self.limits.iter().filter_map(share).collect()
    }

    /// What a packet counts for in `limit`, which is no fixed one.
    pub fn units(&self, limit: &LimitName) -> u32 {
        limit.units(PACKET_BYTES)
    }

    /// The limit itself.
    pub fn limit(&self, limit: &LimitName) -> taut_path::AnyLimit {
        limit.limit(PACKET_BYTES, 0)
    }
}

fn parse_cost(text: &str) -> Result<Time, String> {
    parse_within(text, COSTS)
}

fn parse_length(text: &str) -> Result<Time, String> {
    parse_within(text, LENGTHS)
}

fn parse_warm_up(text: &str) -> Result<Time, String> {
    parse_within(text, WARM_UPS)
}

fn parse_within(text: &str, allowed: RangeInclusive<Time>) -> Result<Time, String> {
    let time = Time(units::parse_time_ns(text).map_err(|error| error.to_string())?);
    if allowed.contains(&time) {
        return Ok(time);
    }
    Err(format!(
        "allowed is {} to {}",
        allowed.start(),
        allowed.end()
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: SoftwareConsumer,
    }

    fn parse(line: &str) -> Result<SoftwareConsumer, String> {
        Line::try_parse_from(std::iter::once("lab").chain(line.split_whitespace()))
            .map(|line| line.options)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_consumer_is_run_with_every_way_of_telling_unless_some_are_said() {
        assert_eq!(parse("").unwrap().cases().len(), 12);
        let some = parse("--consumer fast --core own --told 50us --told each").unwrap();
        let names: Vec<_> = some.cases().iter().map(Case::to_string).collect();
        assert_eq!(
            names,
            ["fast, own core, told 50us", "fast, own core, told each"]
        );
        let config = some.config(&some.cases()[0], 1, Time(0), 1);
        assert_eq!(
            (config.consumer_ns, config.told),
            (1_800, taut_sim::consumer::Told::After(50_000))
        );
    }

    #[test]
    fn what_is_refused_says_what_is_allowed() {
        for (line, what) in [
            ("--consumer quick", "slow or fast"),
            ("--core two", "shared or own"),
            ("--told never", "each, poll, or a time"),
            ("--limit x", "allowed are off"),
            ("--slow-packet 1s", "1ns to 100ms"),
            ("--duration 1ms", "10ms to 800ms"),
            ("--duration 1s", "10ms to 800ms"),
            ("--warm-up 1ms", "10ms to 3600s"),
            ("--ring 1", "2..=4096"),
        ] {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }
}
