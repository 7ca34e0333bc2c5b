//! The changes to make, and whether they are consistent.

use taut_linux::observe::NoLimitReason;
use taut_path::tunables::{Setting, Tunable};

use super::change::Change;
use crate::gather::{Host, Missing, Selection, gather};

/// Returns every change of one device, with the current values.
///
/// # Errors
/// A sentence for the user: the device or a queue does not exist, or has no byte limit.
pub fn plan(
    host: &Host,
    selection: &Selection,
    settings: &[Setting],
) -> Result<Vec<Change>, String> {
    let inventory = gather(host, selection, Missing::Error)?;
    let device = inventory.devices.first().ok_or("no device")?;
    if device.rows.is_empty() {
        let why = device
            .no_limit_reason
            .as_ref()
            .map_or("no such queue has one".to_owned(), NoLimitReason::text);
        return Err(format!("{} has no byte limit to set: {why}", device.name));
    }
    let mut changes = Vec::new();
    for row in &device.rows {
        for &setting in settings {
            changes.push(Change::new(&host.sysfs, &row.device, row.queue, setting)?);
        }
    }
    Ok(changes)
}

/// Rejects bounds that contradict each other, in any queue with its current values.
///
/// # Errors
/// A sentence for the user.
pub fn check(changes: &[Change]) -> Result<(), String> {
    for queue in changes.chunk_by(|a, b| a.queue == b.queue) {
        let Some(first) = queue.first() else { continue };
        let value = |tunable| {
            let changed = queue.iter().find(|it| it.setting.tunable() == tunable);
            changed.map_or(first.current(tunable), |it| u64::from(it.setting.value()))
        };
        let (min, max) = (value(Tunable::LimitMin), value(Tunable::LimitMax));
        let place = format!("{} queue {}", first.device, first.queue);
        if min > max {
            return Err(format!(
                "{place}: limit_min is {min}; allowed: at most limit_max, which is {max}"
            ));
        }
        let sets_limit = queue
            .iter()
            .any(|it| it.setting.tunable() == Tunable::Limit);
        let limit = value(Tunable::Limit);
        if sets_limit && !(min..=max).contains(&limit) {
            return Err(format!(
                "{place}: limit is {limit}; allowed: {min} to {max}"
            ));
        }
    }
    Ok(())
}
