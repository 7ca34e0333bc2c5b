//! Changing the byte limits of the kernel's queues: all changes or none.
//!
//! `parse` reads names and values, `plan` makes a `Change` of each for each queue,
//! `check` rejects bounds that contradict each other, `apply` writes, and `undo` returns
//! what has to be set to restore the old values.

mod settings;

use std::io;

use taut_linux::observe::{NoLimitReason, Sysfs, read_tunable, write_tunable};
use taut_path::tunables::{Setting, Tunable};

use crate::gather::{Host, Missing, Selection, gather};
use crate::queue_set::QueueSet;

pub use settings::{parse, to_text};

/// One setting of one queue.
#[derive(Debug, Clone)]
pub struct Change {
    /// Name of the device.
    pub device: String,
    /// Number of the transmit queue.
    pub queue: u32,
    /// The setting to write.
    pub setting: Setting,
    /// The value before.
    pub old: u64,
    /// The requested value; after [`apply`], the value that the kernel reports.
    pub new: u64,
    /// Limit, minimum and maximum before.
    bounds: [u64; 3],
}

impl Change {
    /// Reads the current values; writes nothing.
    ///
    /// # Errors
    /// A sentence for the user: this kernel has no such file, or it cannot be read.
    pub fn new(sysfs: &Sysfs, device: &str, queue: u32, setting: Setting) -> Result<Self, String> {
        let read = |tunable| {
            read_tunable(sysfs, device, queue, tunable).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    let name = tunable.name();
                    format!("{device} queue {queue} has no {name}: {error}")
                }
                _ => error.to_string(),
            })
        };
        Ok(Self {
            device: device.to_owned(),
            queue,
            setting,
            bounds: [
                read(Tunable::Limit)?,
                read(Tunable::LimitMin)?,
                read(Tunable::LimitMax)?,
            ],
            old: read(setting.tunable)?,
            new: setting.value.into(),
        })
    }

    /// Returns the limit, or a bound of it, before the change.
    fn current(&self, tunable: Tunable) -> u64 {
        let [limit, min, max] = self.bounds;
        match tunable {
            Tunable::LimitMin => min,
            Tunable::LimitMax => max,
            _ => limit,
        }
    }
}

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
            let changed = queue.iter().find(|it| it.setting.tunable == tunable);
            changed.map_or(first.current(tunable), |it| u64::from(it.setting.value))
        };
        let (min, max) = (value(Tunable::LimitMin), value(Tunable::LimitMax));
        let place = format!("{} queue {}", first.device, first.queue);
        if min > max {
            return Err(format!(
                "{place}: limit_min is {min}; allowed: at most limit_max, which is {max}"
            ));
        }
        let sets_limit = queue.iter().any(|it| it.setting.tunable == Tunable::Limit);
        let limit = value(Tunable::Limit);
        if sets_limit && !(min..=max).contains(&limit) {
            return Err(format!(
                "{place}: limit is {limit}; allowed: {min} to {max}"
            ));
        }
    }
    Ok(())
}

/// Why the changes could not be made.
#[derive(Debug)]
pub struct ApplyError {
    /// The error of the kernel.
    pub error: io::Error,
    /// Number of changes that were made before it and are undone.
    pub undone: usize,
    /// Changes that were made before it and could not be undone, with the reason.
    pub not_undone: Vec<(Change, io::Error)>,
}

/// Makes all changes and reads back the new values, or makes none.
///
/// # Errors
/// If a write fails; the changes before it are undone as far as possible.
pub fn apply(sysfs: &Sysfs, changes: &[Change]) -> Result<Vec<Change>, ApplyError> {
    let mut made: Vec<Change> = Vec::new();
    for change in changes {
        let (device, queue) = (&change.device, change.queue);
        let written = write_tunable(sysfs, device, queue, change.setting);
        // A failed write may have changed the value, so it is undone as well.
        made.push(change.clone());
        let now = written.and_then(|()| read_tunable(sysfs, device, queue, change.setting.tunable));
        match now {
            Ok(now) => {
                if let Some(last) = made.last_mut() {
                    last.new = now;
                }
            }
            Err(error) => return Err(undo_all(sysfs, made, error)),
        }
    }
    Ok(made)
}

fn undo_all(sysfs: &Sysfs, made: Vec<Change>, error: io::Error) -> ApplyError {
    let mut failed = ApplyError {
        error,
        undone: 0,
        not_undone: Vec::new(),
    };
    for mut change in made.into_iter().rev() {
        let tunable = change.setting.tunable;
        if let Ok(now) = read_tunable(sysfs, &change.device, change.queue, tunable) {
            if now == change.old {
                continue;
            }
            change.new = now;
        }
        let setting = tunable.parse(&change.old.to_string());
        let setting = setting.map_err(|error| io::Error::other(error.to_string()));
        let written = setting.and_then(|it| write_tunable(sysfs, &change.device, change.queue, it));
        match written {
            Ok(()) => failed.undone += 1,
            Err(error) => failed.not_undone.push((change, error)),
        }
    }
    failed
}

/// Returns what undoes `changes`, as `taut set` takes it: `-q 0-3 limit_max max`. There is one
/// entry for all queues that had the same values.
pub fn undo(changes: &[Change]) -> Vec<String> {
    let mut found: Vec<(String, Vec<u32>)> = Vec::new();
    for queue in changes.chunk_by(|a, b| a.queue == b.queue) {
        let old = queue.iter().filter(|it| it.old != it.new).map(|it| {
            let tunable = it.setting.tunable;
            format!("{} {}", tunable.name(), to_text(tunable, it.old))
        });
        let old = old.collect::<Vec<_>>().join(" ");
        if old.is_empty() {
            continue;
        }
        match found.iter_mut().find(|(text, _)| *text == old) {
            Some((_, queues)) => queues.push(queue[0].queue),
            None => found.push((old, vec![queue[0].queue])),
        }
    }
    let found = found.iter();
    found
        .map(|(old, queues)| format!("-q {} {old}", QueueSet::ranges(queues)))
        .collect()
}
