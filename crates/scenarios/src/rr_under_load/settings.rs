//! Settings of E1.

use taut_path::{AnyLimit, LateSegmentation, qdisc};

use super::case::Only;
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
        /// Interrupt interval.
        coalesce: Time => validation::within(validation::COALESCE_TIMES),
        /// The discipline, in `tc` syntax.
        qdisc: String => discipline,
        /// Limits of the rows with a limit, a row for each.
        #[serde(with = "as_texts")]
        limits: Vec<AnyLimit> => validation::limits(0),
        /// Late segmentations of GSO packets, a row for each.
        #[serde(with = "as_texts")]
        late_segmentation: Vec<LateSegmentation> => validation::late_segmentation,
        /// Time of a transaction outside of the device queue.
        host_latency: Time => validation::within(Time(2 * DELAY_NS)..=Time::ms(10_000)),
        /// Warm-up of each row.
        warm_up: Time => validation::within(validation::WARM_UPS),
        /// Measured time of each row.
        duration: Time => validation::within(validation::DURATIONS),
        /// The rows that are run.
        #[serde(with = "as_text")]
        rows: Only where leaving_any(limits),
    }
}

impl Settings {
    /// Returns `true` for the settings of the published experiment.
    pub fn is_published(&self) -> bool {
        (self.streams, self.rate.0, self.ring) == (100, 1_000_000_000, 1024)
    }

    /// Returns the end of a row in ns of virtual time, including the warm-up.
    pub fn end_ns(&self) -> u64 {
        self.warm_up.0 + self.duration.0
    }
}

/// Requires a selection with at least one row for `limits`.
fn leaving_any(limits: &[AnyLimit]) -> impl Fn(&str, &Only) -> Validation {
    move |key, rows| {
        if rows.cases(limits, &[LateSegmentation::Off]).is_empty() {
            return Err(format!(
                "{key} is {rows}, which selects no row; allowed with these limits: limit=off"
            ));
        }
        Ok(())
    }
}

/// Requires a discipline in `tc` syntax.
fn discipline(key: &str, spelled: &String) -> Validation {
    let found = qdisc::by_name(spelled).map(drop);
    found.map_err(|error| format!("{key} is {spelled:?}: {error}"))
}
