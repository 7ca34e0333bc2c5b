//! The settings of the scenario.

use std::ops::RangeInclusive;

use super::paused::PausedName;
use crate::allowed::{MAX_DURATION, Verdict};
use crate::prelude::*;
use crate::serde_text::as_texts;
use taut_sim::single_queue_bench::Rule;

/// More values of one setting than this make a table that is not read.
const MAX_VALUES: usize = 20;

/// A pause ends within a run that is still short.
const PAUSES: RangeInclusive<Time> = Time(1)..=Time(100_000_000_000);

settings! {
    PausesSettings, "pauses" {
        /// Limits, each of which runs every case.
        #[serde(with = "as_texts")]
        rules: Vec<Rule> => allowed::each_once(1..=MAX_VALUES, "rule"),
        /// Packets that the ring holds.
        rings: Vec<u32> => allowed::each(1..=MAX_VALUES, allowed::ring),
        /// Link rates.
        rates: Vec<Rate> => allowed::each(1..=MAX_VALUES, allowed::within(allowed::RATES)),
        /// Size of every packet.
        size: Size => allowed::size,
        /// Mean time from interrupt to interrupt.
        interval: Time => allowed::within(allowed::CADENCES),
        /// Lengths of the one pause of a case.
        pauses: Vec<Time> => allowed::each(1..=MAX_VALUES, allowed::within(PAUSES)),
        /// What pauses: `sender`, or `thread`, which sends and completes.
        #[serde(with = "as_texts")]
        paused: Vec<PausedName> => allowed::each_once(1..=2, "thread"),
        /// Lengths of pauses that repeat.
        periodic_pauses: Vec<Time> => allowed::each(0..=MAX_VALUES, allowed::within(PAUSES)),
        /// From the start of such a pause to the start of the next.
        periodic_every: Vec<Time> where longer_than(periodic_pauses),
        /// The ring of the periodic pauses.
        periodic_ring: u32 => allowed::ring,
        /// Their link rate.
        periodic_rate: Rate => allowed::within(allowed::RATES),
        /// What is not measured before the first pause.
        warm_up: Time => allowed::within(Time(0)..=MAX_DURATION),
        /// How long a case runs after its pause.
        after: Time => allowed::within(Time::ms(1)..=MAX_DURATION),
    }
}

/// One period for each pause, in which the pause ends.
fn longer_than(pauses: &[Time]) -> impl Fn(&str, &[Time]) -> Verdict {
    move |key, every| {
        allowed::each(pauses.len()..=pauses.len(), allowed::any)(key, every)?;
        let mut pairs = pauses.iter().zip(every);
        pairs.try_for_each(|(pause, every)| {
            allowed::within(Time(pause.0 + 1)..=MAX_DURATION)(key, every)
        })
    }
}
