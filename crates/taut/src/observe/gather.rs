//! Reading all queues that were asked for.

use std::io;

use taut_linux::observe::{Device, Sysfs};

use super::options::Selection;
use super::row::{Row, Without};

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Queues that have a byte limit.
    pub rows: Vec<Row>,
    /// Devices none of whose limits works.
    pub without: Vec<Without>,
    /// What could not be read, with its device.
    pub problems: Vec<String>,
}

/// Reads the devices of `selection`. One that vanishes meanwhile was never there, unless it was named.
///
/// # Errors
/// In words: a device or a queue that was named is not there; nothing can be read.
pub fn gather(sysfs: &Sysfs, selection: &Selection) -> Result<Found, String> {
    let mut found = Found::default();
    if selection.devices.is_empty() {
        for name in sysfs.devices().map_err(|error| error.to_string())? {
            match sysfs.device(&name) {
                Ok(device) => found.add(&device, selection),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        return Ok(found);
    }
    for name in &selection.devices {
        let device = sysfs
            .device(name)
            .map_err(|error| no_device(sysfs, &error))?;
        check_queues(&device, selection)?;
        found.add(&device, selection);
    }
    Ok(found)
}

fn no_device(sysfs: &Sysfs, error: &io::Error) -> String {
    match sysfs.devices() {
        Ok(names) if error.kind() == io::ErrorKind::NotFound && !names.is_empty() => {
            format!("{error}; there are: {}", names.join(", "))
        }
        _ => error.to_string(),
    }
}

fn check_queues(device: &Device, selection: &Selection) -> Result<(), String> {
    let exists = |number| device.queues.iter().any(|queue| queue.number == number);
    let Some(missing) = selection.queues.as_ref().and_then(|it| it.missing(exists)) else {
        return Ok(());
    };
    let name = &device.name;
    Err(match (device.queues.first(), device.queues.last()) {
        (Some(first), Some(last)) => {
            let (first, last) = (first.number, last.number);
            format!("{name} has no transmit queue {missing}; it has {first} to {last}")
        }
        _ => format!("{name} has no transmit queue {missing}; it has none"),
    })
}

impl Found {
    fn add(&mut self, device: &Device, selection: &Selection) {
        let name = &device.name;
        if let Some(why) = device.why_none() {
            self.without.push(Without {
                device: name.clone(),
                why: why.text(),
            });
        }
        self.problems
            .extend(device.problems.iter().map(|it| format!("{name}: {it}")));
        let chosen = |number| {
            selection
                .queues
                .as_ref()
                .is_none_or(|it| it.contains(number))
        };
        for queue in device.queues.iter().filter(|queue| chosen(queue.number)) {
            if let Some(limits) = queue.limits {
                self.rows.push(Row {
                    device: name.clone(),
                    queue: queue.number,
                    rate_bits_per_s: selection.rate.or(device.speed_bits_per_s),
                    limits,
                    tx_timeouts: queue.tx_timeouts,
                });
            }
        }
    }
}
