//! Making changes, all or none, and undoing them.

use std::io;

use taut_linux::observe::{Sysfs, read_knob, write_knob};
use taut_path::knobs::{Knob, Setting};

use super::settings::spelled;
use crate::observe::options::Place;

/// The bounds and the limit of a queue before anything was changed.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    limit: u64,
    min: u64,
    max: u64,
}

impl Now {
    pub fn of(&self, knob: Knob) -> u64 {
        match knob {
            Knob::LimitMin => self.min,
            Knob::LimitMax => self.max,
            _ => self.limit,
        }
    }
}

/// One knob of one queue.
#[derive(Debug, Clone)]
pub struct Change {
    pub device: String,
    pub queue: u32,
    pub setting: Setting,
    pub now: Now,
    pub old: u64,
    /// What was asked for; after it was made, what the kernel made of it.
    pub new: u64,
}

impl Change {
    /// A change that is not made yet.
    pub fn new(sysfs: &Sysfs, device: &str, queue: u32, setting: Setting) -> Result<Self, String> {
        let read = |knob| {
            read_knob(sysfs, device, queue, knob).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    let name = knob.name();
                    format!("{device} queue {queue} has no {name}: {error}")
                }
                _ => error.to_string(),
            })
        };
        Ok(Self {
            device: device.to_owned(),
            queue,
            setting,
            now: Now {
                limit: read(Knob::Limit)?,
                min: read(Knob::LimitMin)?,
                max: read(Knob::LimitMax)?,
            },
            old: read(setting.knob())?,
            new: setting.value().into(),
        })
    }

    /// For people.
    pub fn line(&self, dry_run: bool) -> String {
        let knob = self.setting.knob();
        let (old, new) = (spelled(knob, self.old), spelled(knob, self.new));
        let change = match (self.old == self.new, dry_run) {
            (true, _) => format!("is {old} already"),
            (false, true) => format!("{old} would become {new}"),
            (false, false) => format!("{old} -> {new}"),
        };
        format!(
            "{} queue {}: {} {change}\n",
            self.device,
            self.queue,
            knob.name()
        )
    }
}

/// Why not all changes could be made.
#[derive(Debug)]
pub struct Failed {
    pub error: io::Error,
    /// Changes that had been made and are no more.
    pub undone: usize,
    /// Changes that had been made and are still there, and why.
    pub not_undone: Vec<(Change, io::Error)>,
}

/// Makes all changes and reads back what became of them; or none.
pub fn apply(sysfs: &Sysfs, changes: &[Change]) -> Result<Vec<Change>, Failed> {
    let mut made: Vec<Change> = Vec::new();
    for change in changes {
        let (device, queue) = (&change.device, change.queue);
        let written = write_knob(sysfs, device, queue, change.setting);
        // Whether a write that failed changed anything is not known: it is undone as well.
        made.push(change.clone());
        let now = written.and_then(|()| read_knob(sysfs, device, queue, change.setting.knob()));
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

fn undo_all(sysfs: &Sysfs, made: Vec<Change>, error: io::Error) -> Failed {
    let mut failed = Failed {
        error,
        undone: 0,
        not_undone: Vec::new(),
    };
    for change in made.into_iter().rev() {
        let knob = change.setting.knob();
        let now = read_knob(sysfs, &change.device, change.queue, knob);
        if now.as_ref().is_ok_and(|&now| now == change.old) {
            continue;
        }
        let setting = knob.parse(&change.old.to_string());
        let setting = setting.map_err(|error| io::Error::other(error.to_string()));
        let written = setting.and_then(|it| write_knob(sysfs, &change.device, change.queue, it));
        match written {
            Ok(()) => failed.undone += 1,
            Err(error) => failed.not_undone.push((change, error)),
        }
    }
    failed
}

/// The commands that undo `changes`: one for all queues that had the same before.
pub fn undo(changes: &[Change], place: &Place) -> Vec<String> {
    let mut commands: Vec<(String, Vec<u32>)> = Vec::new();
    for queue in changes.chunk_by(|a, b| a.queue == b.queue) {
        let was = queue.iter().filter(|it| it.old != it.new).map(|it| {
            let knob = it.setting.knob();
            format!(" {} {}", knob.name(), spelled(knob, it.old))
        });
        let was: String = was.collect();
        if was.is_empty() {
            continue;
        }
        match commands.iter_mut().find(|(text, _)| *text == was) {
            Some((_, queues)) => queues.push(queue[0].queue),
            None => commands.push((was, vec![queue[0].queue])),
        }
    }
    let Some(first) = changes.first() else {
        return Vec::new();
    };
    let command = |(was, queues): (String, Vec<u32>)| {
        let (device, place) = (&first.device, place.spelled());
        format!("taut set {device}{place} -q {}{was}", ranges(&queues))
    };
    commands.into_iter().map(command).collect()
}

/// `0-3,7`.
fn ranges(queues: &[u32]) -> String {
    let ranges = queues
        .chunk_by(|a, b| a + 1 == *b)
        .map(|range| match range {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_said_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[1, 3, 4]), "1,3-4");
    }
}
