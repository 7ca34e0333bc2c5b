//! The settings.

use taut_path::{AnyLimit, Split, qdisc};

use super::case::Only;
use super::published::is_published;
use crate::prelude::*;
use crate::serde_text::{as_text, as_texts};
use crate::two_hosts::DELAY_NS;
use crate::validation::Validation;

settings! {
    Settings, "rr-under-load" {
        /// Bulk streams.
        streams: u32 => validation::within(validation::STREAMS),
        /// Link rate.
        rate: Rate => validation::within(validation::RATES),
        /// Descriptors of the ring.
        ring: u32 => validation::within(validation::RINGS),
        /// From interrupt to interrupt.
        cadence: Time => validation::within(validation::CADENCES),
        /// The discipline, as `tc` spells it.
        qdisc: String => discipline,
        /// What holds the queue back in the rows with a limit, a row for each.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => validation::limits(0),
        /// How super-packets go to the device, a row for each.
        #[serde(with = "as_texts")]
        splits: Vec<Split> => validation::splits,
        /// The time of a transaction that is not spent in the device queue.
        hosts: Time => validation::within(Time(2 * DELAY_NS)..=Time::ms(10_000)),
        /// What is not measured at the start of each row.
        warm_up: Time => validation::within(validation::WARM_UPS),
        /// What is measured of each row.
        duration: Time => validation::within(validation::DURATIONS),
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

/// Rows of which `limits` leave any to run.
fn leaving_any(limits: &[AnyLimit]) -> impl Fn(&str, &Only) -> Validation {
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
fn discipline(key: &str, spelled: &String) -> Validation {
    let found = qdisc::by_name(spelled).map(drop);
    found.map_err(|error| format!("{key} is {spelled:?}: {error}"))
}
