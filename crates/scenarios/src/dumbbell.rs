//! Pairs of hosts at two switches with a slow trunk between them: disciplines and limits side by side.

use crate::prelude::*;
use crate::switches::{self, Case, switch_settings};

/// From one switch to the other.
const TRUNK_DELAY_NS: u64 = 10_000;

/// Four links of hosts and the trunk twice.
const LEAST_ROUND_TRIP: Time = Time(4 * TRUNK_DELAY_NS);

switch_settings! {
    "dumbbell" {
        /// Pairs of hosts with bulk streams; with one more, which asks and answers, 64 hosts.
        pairs: u32 => allowed::within(1..=31),
    } {
        /// Round trips without any waiting, which pairs have in turn; that of requests is the first.
        round_trips: Vec<Time> => allowed::each(1..=31, allowed::within(LEAST_ROUND_TRIP..=Time::ms(2_000))),
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str =
        "pairs of hosts share a trunk: disciplines with limits side by side";
    const COLUMNS: &'static [(&'static str, &'static str)] = &switches::columns([
        (
            "fairness",
            "Jain's index of what the pairs received: 1 if all is equal",
        ),
        ("least_bps", "of the pair that received least"),
    ]);

    type Case = Case;
    type Outcome = Found;

    fn cases(&self, _seed: u64) -> Result<Vec<Case>, ScenarioError> {
        Ok(Case::all(&self.qdiscs, &self.limits))
    }

    fn name(&self, case: &Case) -> String {
        case.name()
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Found, ScenarioError> {
        let switches = self.row_of(2, TRUNK_DELAY_NS, seed);
        let mut pairs = switches.pairs(case)?;
        let delay_ns = |round_trip: &Time| (round_trip.0 - 2 * TRUNK_DELAY_NS) / 4;
        let in_turn = self.round_trips.iter().map(delay_ns).cycle();
        for delay_ns in in_turn.take(self.pairs as usize) {
            pairs.add([0, 1], delay_ns, self.streams)?;
        }
        pairs.add_requests([0, 1], delay_ns(&self.round_trips[0]))?;
        let ran = switches.run(pairs)?;
        let bps = &ran.pairs_bps;
        let mut row = ran.row(case, switches.switches);
        row["goodput_bps"] = (bps.iter().sum::<f64>() as u64).into();
        row["least_bps"] = (bps.iter().copied().fold(f64::MAX, f64::min) as u64).into();
        row["fairness"] = fairness(bps).into();
        Ok(Found::row(row))
    }

    fn found(&self, ran: &[(&Case, &Found)]) -> Found {
        Found::of(ran)
    }
}

/// Jain's index, to three places.
fn fairness(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 {
        return 1.0;
    }
    (sum * sum / (shares.len() as f64 * squares) * 1e3).round() / 1e3
}
