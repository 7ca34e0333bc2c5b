//! Effect of a thread's pause on a limit: rings, link rates and lengths of the pause.

mod case;
mod summary;

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};
use taut_sim::pause_bench::{Paused, observe};
use taut_sim::single_queue_bench::Rule;

pub use case::PausesCase;

/// Maximum values of one setting: a longer table is unreadable.
const MAX_VALUES: usize = 20;

/// Range of a pause that keeps the run short.
const PAUSES: RangeInclusive<Time> = Time(1)..=Time(100_000_000_000);

settings! {
    PausesSettings, "pauses" {
        /// Limits, each of which runs every case.
        #[serde(with = "as_texts")]
        rules: Vec<Rule> => validation::each_once(1..=MAX_VALUES, "rule"),
        /// Packets that the ring holds.
        rings: Vec<u32> => validation::each(1..=MAX_VALUES, validation::ring),
        /// Link rates.
        rates: Vec<Rate> => validation::each(1..=MAX_VALUES, validation::within(validation::RATES)),
        /// Size of every packet.
        size: Size => validation::size,
        /// Mean interrupt interval.
        interval: Time => validation::within(validation::COALESCE_TIMES),
        /// Lengths of the one pause of a case.
        pauses: Vec<Time> => validation::each(1..=MAX_VALUES, validation::within(PAUSES)),
        /// The pausing thread: `sender`, or `thread`, which sends and completes.
        #[serde(with = "as_texts")]
        paused: Vec<Paused> => validation::each_once(1..=2, "thread"),
        /// Lengths of periodic pauses.
        periodic_pauses: Vec<Time> => validation::each(0..=MAX_VALUES, validation::within(PAUSES)),
        /// Their periods, from start to start.
        periodic_every: Vec<Time> where longer_than(periodic_pauses),
        /// The ring of the periodic pauses.
        periodic_ring: u32 => validation::ring,
        /// Link rate of the periodic pauses.
        periodic_rate: Rate => validation::within(validation::RATES),
        /// Warm-up before the first pause.
        warm_up: Time => validation::within(Time(0)..=MAX_DURATION),
        /// Time that a case runs after its pause.
        after: Time => validation::within(Time::ms(1)..=MAX_DURATION),
    }
}

/// Requires one period for each pause, longer than the pause.
fn longer_than(pauses: &[Time]) -> impl Fn(&str, &[Time]) -> Validation {
    move |key, every| {
        validation::each(pauses.len()..=pauses.len(), validation::any)(key, every)?;
        let mut pairs = pauses.iter().zip(every);
        pairs.try_for_each(|(pause, every)| {
            validation::within(Time(pause.0 + 1)..=MAX_DURATION)(key, every)
        })
    }
}

impl Scenario for PausesSettings {
    type Case = PausesCase;
    type Outcome = Results;

    fn cases(&self, _seed: u64) -> Cases<Self> {
        Ok(self.all_cases())
    }

    /// Returns a row for each pause, compared with the same run without one.
    fn run(&self, case: &PausesCase, seed: u64) -> Result<Results, ScenarioError> {
        let whole = observe(&self.bench(case, None, seed), &case.rule)?;
        let mut found = Results::default();
        for pause in &case.pauses {
            let report = observe(&self.bench(case, Some(*pause), seed), &case.rule)?;
            found.rows.push(self.row(case, pause, &report, &whole));
        }
        Ok(found)
    }

    fn results(&self, ran: &[(&PausesCase, &Results)]) -> Results {
        Results::of(ran)
    }

    fn summary(rows: &[Value]) -> Option<Summary> {
        summary::of(rows)
    }
}
