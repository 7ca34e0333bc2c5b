//! A row of switches with a queue at each: streams along the whole row meet others at each trunk.

use crate::prelude::*;
use crate::switches::{self, Case, switch_settings};

// With as many streams along the whole row as across each trunk alone.
switch_settings! {
    "chain" {
        /// Switches in the row. Two hosts for each trunk and four for the whole row: 64 hosts.
        switches: u32 => allowed::within(2..=31),
    } {
        /// One way across a trunk.
        trunk_delay: Time => allowed::within(Time(1_000)..=Time::ms(1_000)),
        /// One way between a host and its switch.
        host_delay: Time => allowed::within(Time(1_000)..=Time::ms(1_000)),
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str = "streams along a row of switches meet others at each trunk";
    const COLUMNS: &'static [(&'static str, &'static str)] = &switches::columns([
        ("along_bps", "of the streams along the whole row"),
        (
            "across_bps",
            "of those across one trunk, the mean of the trunks",
        ),
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
        let switches = self.row_of(self.switches as usize, self.trunk_delay.0, seed);
        let (last, delay_ns) = (switches.switches - 1, self.host_delay.0);
        let mut pairs = switches.pairs(case)?;
        pairs.add([0, last], delay_ns, self.streams)?;
        for at in 0..last {
            pairs.add([at, at + 1], delay_ns, self.streams)?;
        }
        pairs.add_requests([0, last], delay_ns)?;
        let ran = switches.run(pairs)?;
        let (along, across) = ran.pairs_bps.split_at(1);
        let mean = across.iter().sum::<f64>() / across.len() as f64;
        let mut row = ran.row(case, switches.switches);
        row["along_bps"] = (along[0] as u64).into();
        row["across_bps"] = (mean as u64).into();
        Ok(Found::row(row))
    }

    fn found(&self, ran: &[(&Case, &Found)]) -> Found {
        Found::of(ran)
    }
}
