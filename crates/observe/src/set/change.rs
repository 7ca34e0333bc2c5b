//! Changes, and writing them: all or none.

use std::io;

use taut_linux::observe::{Sysfs, read_tunable, write_tunable};
use taut_path::tunables::{Setting, Tunable};

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
            old: read(setting.tunable())?,
            new: setting.value().into(),
        })
    }

    /// Returns the limit, or a bound of it, before the change.
    pub(super) fn current(&self, tunable: Tunable) -> u64 {
        let [limit, min, max] = self.bounds;
        match tunable {
            Tunable::LimitMin => min,
            Tunable::LimitMax => max,
            _ => limit,
        }
    }
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
        let now =
            written.and_then(|()| read_tunable(sysfs, device, queue, change.setting.tunable()));
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
        let tunable = change.setting.tunable();
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
