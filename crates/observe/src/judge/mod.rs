//! The rules that judge byte limits: `taut doctor`.
//!
//! `examine` observes queues for a while and returns `Evidence`; `judge` applies the
//! `RULES` to it.

mod blocked;
mod checks;
mod evidence;
mod finding;
mod rules;
mod trend;
mod watch;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;

use crate::gather::{Host, Missing, Selection, gather};

pub use evidence::{DeviceEvidence, Evidence, QueueEvidence};
pub use finding::{Finding, Verdict};
pub use rules::{RULES, Rule};
pub use trend::Trend;

/// The finding of one rule.
#[derive(Debug)]
pub struct Judgement {
    /// The rule.
    pub rule: &'static Rule,
    /// What it found.
    pub finding: Finding,
}

/// Observes the queues of `selection` for `length_ns`. Nothing is sent or changed.
///
/// # Errors
/// As [`gather`].
pub fn examine(
    host: &Host,
    selection: &Selection,
    length_ns: u64,
) -> Result<Vec<Evidence>, String> {
    let before = gather(host, selection, Missing::Error)?;
    let disciplines = evidence::disciplines(host, &before);
    let samples = watch::watch(&host.sysfs, &before, length_ns);
    // A queue that was removed is judged by its samples up to then.
    let after = gather(host, selection, Missing::Skip)?;
    Ok(evidence::collect(
        host,
        before,
        &after,
        samples,
        &disciplines,
        length_ns,
    ))
}

/// Applies every rule.
pub fn judge(evidence: &Evidence) -> Vec<Judgement> {
    let judgement = |rule: &'static Rule| {
        let finding = (rule.judge)(evidence)?;
        Some(Judgement { rule, finding })
    };
    RULES.iter().filter_map(judgement).collect()
}
