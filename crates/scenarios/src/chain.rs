//! A row of switches with a queue at each: streams along the whole row meet others at each trunk.

use serde::{Deserialize, Serialize};
use taut_path::AnyLimit;

use crate::error::ScenarioError;
use crate::quantity::{Rate, Time, as_texts, check};
use crate::scenario::{Found, Scenario};
use crate::switches::{self, Case, SwitchRow};

/// What is run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `chain`.
    pub scenario: String,
    /// Switches in the row.
    pub switches: u32,
    /// Bulk streams along the whole row, and as many across each trunk alone.
    pub streams: u32,
    /// Of each trunk.
    pub rate: Rate,
    /// Of each host's link.
    pub host_rate: Rate,
    /// One way across a trunk.
    pub trunk_delay: Time,
    /// One way between a host and its switch.
    pub host_delay: Time,
    /// Explicit congestion notification.
    pub ecn: bool,
    /// Descriptors at each end of a trunk.
    pub ring: u32,
    /// From interrupt to interrupt.
    pub cadence: Time,
    /// The disciplines, as `tc` spells them.
    pub qdiscs: Vec<String>,
    /// Each of them with each of these limits.
    #[serde(with = "as_texts")]
    pub limits: Vec<AnyLimit>,
    /// What is not measured at the start of each row.
    pub warm_up: Time,
    /// What is measured of each row.
    pub duration: Time,
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
    const NAME: &'static str = "chain";
    const ABOUT: &'static str = "streams along a row of switches meet others at each trunk";
    const FILE: &'static str = include_str!("../files/chain.toml");
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

    fn validate(&self) -> Result<(), String> {
        // Two hosts for each trunk and four for the whole row: 64 hosts.
        check("switches", self.switches, 2, 31)?;
        check("streams", self.streams, 1, 1_000)?;
        check(
            "trunk_delay",
            self.trunk_delay,
            Time(1_000),
            Time::ms(1_000),
        )?;
        check("host_delay", self.host_delay, Time(1_000), Time::ms(1_000))?;
        self.switches(0).check(&self.qdiscs, &self.limits)
    }

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
        row.insert("along_bps".to_owned(), (along[0] as u64).into());
        row.insert("across_bps".to_owned(), (mean as u64).into());
        Ok(Found::row(row.into()))
    }

    fn found(&self, ran: &[(&Case, &Found)]) -> Found {
        Found::of(ran)
    }
}
