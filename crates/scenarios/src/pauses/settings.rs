//! The settings of the scenario.

use std::ops::RangeInclusive;

use super::paused::PausedName;
use crate::prelude::*;
use crate::serde_text::as_texts;
use crate::validation::{MAX_DURATION, Validation};
use taut_sim::single_queue_bench::Rule;

/// More values of one setting than this make a table that is not read.
const MAX_VALUES: usize = 20;

/// A pause ends within a run that is still short.
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
        /// Mean time from interrupt to interrupt.
        interval: Time => validation::within(validation::CADENCES),
        /// Lengths of the one pause of a case.
        pauses: Vec<Time> => validation::each(1..=MAX_VALUES, validation::within(PAUSES)),
        /// What pauses: `sender`, or `thread`, which sends and completes.
        #[serde(with = "as_texts")]
        paused: Vec<PausedName> => validation::each_once(1..=2, "thread"),
        /// Lengths of pauses that repeat.
        periodic_pauses: Vec<Time> => validation::each(0..=MAX_VALUES, validation::within(PAUSES)),
        /// From the start of such a pause to the start of the next.
        periodic_every: Vec<Time> where longer_than(periodic_pauses),
        /// The ring of the periodic pauses.
        periodic_ring: u32 => validation::ring,
        /// Their link rate.
        periodic_rate: Rate => validation::within(validation::RATES),
        /// What is not measured before the first pause.
        warm_up: Time => validation::within(Time(0)..=MAX_DURATION),
        /// How long a case runs after its pause.
        after: Time => validation::within(Time::ms(1)..=MAX_DURATION),
    }
}

/// One period for each pause, in which the pause ends.
fn longer_than(pauses: &[Time]) -> impl Fn(&str, &[Time]) -> Validation {
    move |key, every| {
        validation::each(pauses.len()..=pauses.len(), validation::any)(key, every)?;
        let mut pairs = pauses.iter().zip(every);
        pairs.try_for_each(|(pause, every)| {
            validation::within(Time(pause.0 + 1)..=MAX_DURATION)(key, every)
        })
    }
}
