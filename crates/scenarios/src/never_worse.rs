//! E11: many drawn combinations, each with the limit and without.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::prelude::*;
use crate::one_queue::saturated;
use taut_sim::dice::Dice;
use taut_sim::lane::{LaneConfig, Observed, Reap, Rule, Source, observe};
use taut_sim::nic::{InterruptRule, RareGap};

settings! {
    "never-worse" {
        /// Combinations.
        cases: u32 => allowed::within(1..=1_000_000),
        /// Packets that each may take at its link rate, about.
        packets: u32 => allowed::within(100..=100_000_000),
        /// A loss of throughput that is listed, in percent.
        listed_loss_percent: f64 => allowed::within(0.0..=100.0),
    }
}

/// Share of a run that is not measured: the first ramp-up is another experiment.
const WARM_UP_SHARE: u64 = 5;

/// One combination.
pub struct Case {
    number: u32,
    pattern: &'static str,
    load: &'static str,
    lane: LaneConfig,
    cadence: Time,
}

const RATES: [u64; 8] = [10, 100, 250, 1_000, 2_500, 10_000, 40_000, 100_000];
const RINGS: [u32; 6] = [64, 128, 256, 512, 1_024, 4_096];
const CADENCES_US: [u64; 8] = [0, 5, 20, 50, 100, 250, 500, 1_000];
const SIZES: [&[u32]; 7] = [
    &[60],
    &[590],
    &[1_514],
    &[60, 1_514],
    &[1_514, 1_514, 60, 590],
    &[65_226],
    &[65_226, 66, 1_514],
];
const PATTERNS: [&str; 5] = ["steady", "jitter", "long gaps", "short gaps", "rounds"];
const SATURATED: &str = "saturated";
const LOADS: [&str; 3] = [SATURATED, "bursts", "long bursts"];

impl Settings {
    fn draw(&self, number: u32, dice: &mut Dice) -> Case {
        let rate = Rate(dice.of(&RATES) * 1_000_000);
        let (ring, sizes) = (dice.of(&RINGS), dice.of(&SIZES));
        let cadence = Time::us(dice.of(&CADENCES_US));
        let (pattern, load) = (dice.of(&PATTERNS), dice.of(&LOADS));
        let (interrupt, reap) = completions(pattern, cadence);
        let object_ns = object_ns(sizes, rate);
        let end_ns = (u64::from(self.packets) * object_ns)
            .max(200 * cadence.0)
            .max(1);
        let source = source(load, object_ns, dice);
        let lane = LaneConfig {
            reap,
            object_bytes: sizes.to_vec(),
            // Bursts are never dropped, so that both runs carry the same.
            backlog_packets: if load == SATURATED { 100 } else { u32::MAX },
            source,
            measure_from_ns: end_ns / WARM_UP_SHARE,
            end_ns,
            ..saturated(rate, ring, 0, interrupt, dice.bits())
        };
        Case {
            number,
            pattern,
            load,
            lane,
            cadence,
        }
    }
}

/// When the card of a pattern interrupts, and how what it tells of is reaped.
fn completions(pattern: &str, cadence: Time) -> (InterruptRule, Reap) {
    let (mut interrupt, mut reap) = (InterruptRule::every(cadence.0), Reap::ALL);
    let odd = |gap_ns| {
        Some(RareGap {
            one_in: 100,
            gap_ns,
        })
    };
    match pattern {
        "jitter" => interrupt.jitter_ns = cadence.0 / 2,
        "long gaps" => interrupt.rare_gap = odd(10 * cadence.0),
        "short gaps" => interrupt.rare_gap = odd(cadence.0 / 10),
        "rounds" => {
            reap = Reap {
                budget_packets: 64,
                round_ns: cadence.0 / 20,
            }
        }
        _ => {}
    }
    (interrupt, reap)
}

/// What an object takes of the wire on average, in ns; headers and gaps of segments are 1538 of 1448 bytes.
fn object_ns(sizes: &[u32], rate: Rate) -> u64 {
    let on_wire = sizes.iter().map(|&bytes| u64::from(bytes.max(60)) + 90);
    on_wire.sum::<u64>() * 8_000_000_000 / rate.0 / sizes.len() as u64
}

/// A sender that is silent between its bursts offers the same whatever holds it back. One that stops by the clock
/// would offer more to a deeper ring, which is no comparison.
fn source(load: &str, object_ns: u64, dice: &mut Dice) -> Source {
    let burst = match load {
        "long bursts" => 500 + dice.below(2_000),
        _ => 1 + dice.below(200),
    };
    match load {
        SATURATED => Source::Saturating,
        _ => Source::Bursts {
            packets: burst as u32,
            // From a tenth of the link to nearly all of it.
            every_ns: burst * object_ns * 100 / (10 + dice.below(80)),
            jitter_ns: object_ns,
        },
    }
}

/// What a case, or all cases of one pattern and load, came to.
#[derive(Default)]
pub struct Tally {
    cases: u32,
    listed: u32,
    worst_loss_percent: f64,
    utilisation: [f64; 2],
    in_flight_mean_bytes: [f64; 2],
}

impl Tally {
    fn of(off: &Observed, on: &Observed, listed_loss_percent: f64) -> Self {
        // The wire is counted in whole objects: one at each end of the measured time is no loss.
        let counted = off.wire.packets.saturating_sub(2) as f64 / off.wire.packets.max(1) as f64;
        let lost = off.wire.time_bytes as f64 * counted - on.wire.time_bytes as f64;
        let loss_percent = 100.0 * lost.max(0.0) / off.wire.time_bytes.max(1) as f64;
        Self {
            cases: 1,
            listed: u32::from(loss_percent > listed_loss_percent),
            worst_loss_percent: loss_percent,
            utilisation: [off.utilisation, on.utilisation],
            in_flight_mean_bytes: [off, on].map(|seen| seen.in_flight_mean_bytes as f64),
        }
    }

    fn add(&mut self, one: &Self) {
        self.cases += one.cases;
        self.listed += one.listed;
        self.worst_loss_percent = self.worst_loss_percent.max(one.worst_loss_percent);
        for which in [0, 1] {
            self.utilisation[which] += one.utilisation[which];
            self.in_flight_mean_bytes[which] += one.in_flight_mean_bytes[which];
        }
    }

    /// The row of a case, or the summary of a pattern and load: means, and the worst loss.
    fn row(&self, case: Option<&Case>, pattern: &str, load: &str) -> Value {
        let sizes = case.map(|case| {
            let sizes = case.lane.object_bytes.iter();
            sizes.map(|&bytes| Size(bytes.into())).collect::<Vec<_>>()
        });
        let mean = |sum: f64| sum / f64::from(self.cases.max(1));
        json!({
            "case": case.map(|case| case.number),
            "pattern": pattern,
            "load": load,
            "rate": case.map(|case| Rate(case.lane.nic.rate_bits_per_s)),
            "ring": case.map(|case| case.lane.nic.slots),
            "cadence": case.map(|case| case.cadence),
            "sizes": sizes,
            "cases": self.cases,
            "listed": self.listed,
            "worst_loss_percent": self.worst_loss_percent,
            "utilisation_off": mean(self.utilisation[0]),
            "utilisation_on": mean(self.utilisation[1]),
            "in_flight_mean_off_bytes": mean(self.in_flight_mean_bytes[0]),
            "in_flight_mean_on_bytes": mean(self.in_flight_mean_bytes[1]),
        })
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str =
        "drawn combinations, limit on against off: every case that costs throughput (E11)";

    type Case = Case;
    type Outcome = Tally;

    fn cases(&self, seed: u64) -> Result<Vec<Case>, ScenarioError> {
        let mut dice = Dice::new(seed);
        let draw = |number| self.draw(number, &mut dice);
        Ok((0..self.cases).map(draw).collect())
    }

    fn name(&self, case: &Case) -> String {
        format!("{}, {}", case.pattern, case.load)
    }

    fn run(&self, case: &Case, _seed: u64) -> Result<Tally, ScenarioError> {
        let off = observe(&case.lane, &Rule::off())?;
        let on = observe(&case.lane, &Rule::dql())?;
        Ok(Tally::of(&off, &on, self.listed_loss_percent))
    }

    fn found(&self, ran: &[(&Case, &Tally)]) -> Found {
        let mut groups: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
        for (case, one) in ran {
            groups
                .entry((case.pattern, case.load))
                .or_default()
                .add(one);
        }
        let groups = groups.iter();
        let groups = groups.map(|(&(pattern, load), group)| group.row(None, pattern, load));
        let listed = ran.iter().filter(|(_, one)| one.listed > 0);
        let listed = listed.map(|(case, one)| one.row(Some(case), case.pattern, case.load));
        Found {
            rows: groups.chain(listed).collect(),
            ..Found::default()
        }
    }
}
