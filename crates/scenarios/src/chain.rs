//! A row of switches with a queue at each: streams along the whole row meet others at each trunk.

use taut_path::AnyLimit;

use crate::prelude::*;
use crate::quantity::as_texts;
use crate::rr_under_load::{CADENCES, DURATIONS, MOST_LIMITS, RATES, WARM_UPS};
use crate::switches::{self, Case, SwitchRow};

settings! {
    "chain" {
        /// Switches in the row. Two hosts for each trunk and four for the whole row: 64 hosts.
        switches: u32 => allowed::within(2..=31),
        /// Bulk streams along the whole row, and as many across each trunk alone.
        streams: u32 => allowed::within(1..=1_000),
        /// Of each trunk.
        rate: Rate => allowed::within(RATES),
        /// Of each host's link.
        host_rate: Rate where allowed::within(*rate..=*RATES.end()),
        /// One way across a trunk.
        trunk_delay: Time => allowed::within(Time(1_000)..=Time::ms(1_000)),
        /// One way between a host and its switch.
        host_delay: Time => allowed::within(Time(1_000)..=Time::ms(1_000)),
        /// Explicit congestion notification.
        ecn: bool,
        /// Descriptors at each end of a trunk.
        ring: u32 => allowed::ring,
        /// From interrupt to interrupt.
        cadence: Time => allowed::within(Time(0)..=*CADENCES.end()),
        /// The disciplines, as `tc` spells them.
        qdiscs: Vec<String> => switches::disciplines,
        /// Each of them with each of these limits.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => allowed::each_once(1..=MOST_LIMITS, "limit"),
        /// What is not measured at the start of each row.
        warm_up: Time => allowed::within(WARM_UPS),
        /// What is measured of each row.
        duration: Time => allowed::within(DURATIONS),
    }
}

impl Settings {
    fn switches(&self, seed: u64) -> SwitchRow {
        SwitchRow {
            switches: self.switches as usize,
            rate: self.rate,
            host_rate: self.host_rate,
            ring: self.ring,
            cadence: self.cadence,
            trunk_delay_ns: self.trunk_delay.0,
            ecn: self.ecn,
            warm_up: self.warm_up,
            duration: self.duration,
            seed,
        }
    }
}

impl Scenario for Settings {
    const ABOUT: &'static str = "streams along a row of switches meet others at each trunk";
    const COLUMNS: &'static [(&'static str, &'static str)] = &[
        ("along_bps", "of the streams along the whole row"),
        (
            "across_bps",
            "of those across one trunk, the mean of the trunks",
        ),
        switches::COLUMNS[0],
        switches::COLUMNS[1],
        switches::COLUMNS[2],
        switches::COLUMNS[3],
    ];

    type Case = Case;
    type Outcome = Found;

    fn cases(&self, _seed: u64) -> Result<Vec<Case>, ScenarioError> {
        Ok(Case::all(&self.qdiscs, &self.limits))
    }

    fn name(&self, case: &Case) -> String {
        case.name()
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Found, ScenarioError> {
        let switches = self.switches(seed);
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
