//! Reading all queues that were asked for.

use std::io;

use taut_linux::observe::{Device, Sysfs, WhyNone};
use taut_linux::publish;

use super::options::Selection;
use super::row::Row;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    pub devices: Vec<FoundDevice>,
    /// Queues of running taut paths.
    pub paths: Vec<Row>,
    /// What could not be read, with its device.
    pub problems: Vec<String>,
}

/// A device, with the queues that were asked for.
#[derive(Debug, Default)]
pub struct FoundDevice {
    pub name: String,
    pub driver: Option<String>,
    pub is_virtual: bool,
    /// Why no limit of it works.
    pub why_none: Option<WhyNone>,
    pub mtu_bytes: Option<u64>,
    pub tx_packets: Option<u64>,
    /// Its queues that have a byte limit.
    pub rows: Vec<Row>,
}

/// What is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A device or queue that was named and is not there.
    All,
    /// Nothing: devices may have gone meanwhile.
    WhatIsLeft,
}

/// Reads the devices of `selection`. One that vanishes meanwhile was never there, unless it was named.
///
/// # Errors
/// In words: nothing can be read, or what `asked` says.
pub fn gather(sysfs: &Sysfs, selection: &Selection, asked: Asked) -> Result<Found, String> {
    let mut found = Found::default();
    found.add_paths(selection);
    let may_miss = selection.devices.is_empty() || asked == Asked::WhatIsLeft;
    let names = match selection.devices.is_empty() {
        true => sysfs.devices().map_err(|error| error.to_string())?,
        false => selection.devices.clone(),
    };
    for name in names {
        match sysfs.device(&name) {
            Ok(device) => {
                if !may_miss {
                    check_queues(&device, selection)?;
                }
                found.add(device, selection);
            }
            Err(error) if may_miss && error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if found.paths.iter().any(|row| row.device == name) => {}
            Err(error) if may_miss => found.problems.push(error.to_string()),
            Err(error) => return Err(no_device(sysfs, &error)),
        }
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
    /// All queues of the kernel's devices.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.devices.iter().flat_map(|device| &device.rows)
    }

    /// Paths of this machine's programs: not where another machine's or namespace's tree is read.
    fn add_paths(&mut self, selection: &Selection) {
        if selection.place.is_elsewhere() {
            return;
        }
        let published = publish::read(&publish::directories());
        self.problems.extend(published.problems);
        for queue in published.queues {
            let devices = &selection.devices;
            let named = devices.is_empty() || devices.contains(&queue.device);
            let queues = selection.queues.as_ref();
            if named && queues.is_none_or(|it| it.contains(queue.queue)) {
                self.paths.push(Row::of_path(queue, selection.rate));
            }
        }
    }

    fn add(&mut self, device: Device, selection: &Selection) {
        let name = &device.name;
        self.problems
            .extend(device.problems.iter().map(|it| format!("{name}: {it}")));
        let why_none = device.why_none();
        let chosen = |number| {
            selection
                .queues
                .as_ref()
                .is_none_or(|it| it.contains(number))
        };
        let rows = device.queues.iter().filter(|queue| chosen(queue.number));
        let rows = rows.filter_map(|queue| {
            Some(Row {
                device: name.clone(),
                queue: queue.number,
                rate_bits_per_s: selection.rate.or(device.speed_bits_per_s),
                limits: queue.limits?,
                tx_timeouts: queue.tx_timeouts,
                path: None,
            })
        });
        self.devices.push(FoundDevice {
            rows: rows.collect(),
            driver: device.driver,
            is_virtual: device.is_virtual,
            why_none,
            mtu_bytes: device.mtu_bytes,
            tx_packets: device.tx_packets,
            name: device.name,
        });
    }
}
