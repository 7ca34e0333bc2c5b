//! The settings.

use std::ops::RangeInclusive;

use taut_path::{AnyLimit, Split, qdisc};

use super::case::Only;
use super::published::is_published;
use crate::allowed::Verdict;
use crate::prelude::*;
use crate::quantity::{as_text, as_texts};
use crate::two_hosts::DELAY_NS;

/// Most streams: live, two sockets each, in one process with the usual hard limit of descriptors.
pub const STREAMS: RangeInclusive<u32> = 1..=4_000;

/// Below, TCP's timers outlast the run; above, two cores cannot keep up live by far.
pub const RATES: RangeInclusive<Rate> = Rate(1_000_000)..=Rate(100_000_000_000);

/// Below, no super-packet fits in.
pub const RINGS: RangeInclusive<u32> = 32..=65_536;

/// From what a timer can do live to what TCP takes for a lost link.
pub const CADENCES: RangeInclusive<Time> = Time(1_000)..=Time(100_000_000);

/// Long enough for some transactions in every row, and short enough to end.
pub const DURATIONS: RangeInclusive<Time> = Time(500_000_000)..=Time(3_600_000_000_000);

/// What is not measured of it at first.
pub const WARM_UPS: RangeInclusive<Time> = Time(0)..=*DURATIONS.end();

/// More rows than this are not read side by side.
pub const MOST_LIMITS: usize = 20;

settings! {
    "rr-under-load" {
        /// Bulk streams.
        streams: u32 => allowed::within(STREAMS),
        /// Link rate.
        rate: Rate => allowed::within(RATES),
        /// Descriptors of the ring.
        ring: u32 => allowed::within(RINGS),
        /// From interrupt to interrupt.
        cadence: Time => allowed::within(CADENCES),
        /// The discipline, as `tc` spells it.
        qdisc: String => discipline,
        /// What holds the queue back in the rows with a limit, a row for each.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => check_limits,
        /// How super-packets go to the device, a row for each.
        #[serde(with = "as_texts")]
        splits: Vec<Split> => check_splits,
        /// The time of a transaction that is not spent in the device queue.
        hosts: Time => allowed::within(Time(2 * DELAY_NS)..=Time::ms(10_000)),
        /// What is not measured at the start of each row.
        warm_up: Time => allowed::within(WARM_UPS),
        /// What is measured of each row.
        duration: Time => allowed::within(DURATIONS),
        /// The rows that are run.
        #[serde(with = "as_text")]
        rows: Only where leaving_any(limits),
    }
}

impl Settings {
    /// Whether the published figures are of this experiment.
    pub fn is_published(&self) -> bool {
        is_published(self.streams, self.rate.0, self.ring)
    }

    /// When a row ends, in ns of virtual time: the warm-up is part of it.
    pub fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }
}

/// Whether each of `limits`, which `key` names, is a row of its own.
///
/// # Errors
/// The first that is not, and what is allowed.
pub fn check_limits(key: &str, limits: &[AnyLimit]) -> Verdict {
    allowed::each_once(0..=MOST_LIMITS, "limit")(key, limits)
}

/// Whether there is a way for super-packets, and each of `splits`, which `key` names, is a row of its own.
///
/// # Errors
/// The first that is not, and what is allowed.
pub fn check_splits(key: &str, splits: &[Split]) -> Verdict {
    allowed::each_once(1..=MOST_LIMITS, "way")(key, splits)
}

/// Rows of which `limits` leave any to run.
fn leaving_any(limits: &[AnyLimit]) -> impl Fn(&str, &Only) -> Verdict {
    move |key, rows| {
        if rows.cases(limits, &[Split::Off]).is_empty() {
            return Err(format!(
                "{key} {rows} leaves no row: no limit is said but off; allowed with it: bql=off"
            ));
        }
        Ok(())
    }
}

/// A discipline as `tc` spells it.
fn discipline(key: &str, spelled: &String) -> Verdict {
    let found = qdisc::by_name(spelled).map(drop);
    found.map_err(|error| format!("{key} is {spelled:?}: {error}"))
}
