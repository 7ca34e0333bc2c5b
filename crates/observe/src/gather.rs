//! Reading all selected queues once.

use std::io;

use taut_linux::NetNs;
use taut_linux::observe::{Device, DeviceKind, NoLimitReason, Sysfs};
use taut_linux::publish;

use crate::queue_set::QueueSet;
use crate::row::QueueRow;

/// Where queues are read.
#[derive(Debug, Clone)]
pub struct Host {
    /// The tree with the kernel's queues.
    pub sysfs: Sysfs,
    /// Its network namespace, for netlink and ethtool. `None` for a copy of `/sys`, or if netlink
    /// is not available: then fewer properties are known.
    pub namespace: Option<NetNs>,
    /// Read the queues that running taut paths publish on this machine, too. `false` where
    /// `sysfs` belongs to another machine or network namespace.
    pub paths: bool,
}

impl Host {
    /// The queues of this process's network namespace and of running taut paths.
    pub fn local() -> Self {
        Self {
            sysfs: Sysfs::of_process(),
            namespace: NetNs::current().ok(),
            paths: true,
        }
    }
}

/// Which queues are read, and how fast their links are.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Names of devices; all if empty.
    pub devices: Vec<String>,
    /// Numbers of queues; all if `None`.
    pub queues: Option<QueueSet>,
    /// Speed of the links in bit/s, instead of the driver's value.
    pub rate_bits_per_s: Option<u64>,
}

impl Selection {
    /// Selects the queues of one device.
    pub fn device(name: &str, queues: Option<QueueSet>) -> Self {
        Self {
            devices: vec![name.to_owned()],
            queues,
            rate_bits_per_s: None,
        }
    }

    fn has_queue(&self, number: u32) -> bool {
        self.queues.as_ref().is_none_or(|it| it.contains(number))
    }
}

/// The queues that were found.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Devices of the kernel.
    pub devices: Vec<DeviceRow>,
    /// Queues of running taut paths.
    pub paths: Vec<QueueRow>,
    /// What could not be read, with its device.
    pub problems: Vec<String>,
}

/// A device, with its selected queues.
#[derive(Debug, Clone, Default)]
pub struct DeviceRow {
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: Option<String>,
    /// It has no hardware.
    pub is_virtual: bool,
    /// Why none of its limits works, if none does.
    pub no_limit_reason: Option<NoLimitReason>,
    /// Largest packet without the Ethernet header.
    pub mtu_bytes: Option<u64>,
    /// Packets sent since the device was created.
    pub tx_packets: Option<u64>,
    /// Files that could not be read, with the reason.
    pub problems: Vec<String>,
    /// Number of its queues that have a byte limit, selected or not.
    pub limited_queues: usize,
    /// The sum of their limits.
    pub sum_limits_bytes: u64,
    /// Its selected queues that have a byte limit.
    pub rows: Vec<QueueRow>,
}

/// How a selected device or queue that does not exist is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// An error.
    Error,
    /// Skipped: devices can be removed while a program runs.
    Skip,
}

/// Reads the queues of `selection` once.
///
/// # Errors
/// A sentence for the user: the list of devices cannot be read, or a selected device or queue does
/// not exist and `missing` is [`Missing::Error`].
pub fn gather(host: &Host, selection: &Selection, missing: Missing) -> Result<Inventory, String> {
    let sysfs = &host.sysfs;
    let mut inventory = Inventory::default();
    if host.paths {
        inventory.add_paths(selection);
    }
    let may_miss = selection.devices.is_empty() || missing == Missing::Skip;
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
                inventory.add(device, selection);
            }
            Err(error) if may_miss && error.kind() == io::ErrorKind::NotFound => {}
            Err(_) if inventory.paths.iter().any(|row| row.device == name) => {}
            Err(error) if may_miss => inventory.problems.push(error.to_string()),
            Err(error) => return Err(no_device(sysfs, &error)),
        }
    }
    Ok(inventory)
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

impl Inventory {
    /// Returns all queues of the kernel's devices.
    pub fn rows(&self) -> impl Iterator<Item = &QueueRow> {
        self.devices.iter().flat_map(|device| &device.rows)
    }

    /// Returns the queues of the devices whose limits work.
    pub fn working_rows(&self) -> impl Iterator<Item = &QueueRow> {
        let devices = self.devices.iter();
        let works = devices.filter(|device| device.no_limit_reason.is_none());
        works.flat_map(|device| &device.rows)
    }

    fn add_paths(&mut self, selection: &Selection) {
        let published = publish::read(&publish::directories());
        self.problems.extend(published.problems);
        for queue in published.queues {
            let devices = &selection.devices;
            let is_selected = devices.is_empty() || devices.contains(&queue.device);
            if is_selected && selection.has_queue(queue.queue) {
                let row = QueueRow::from_published(queue, selection.rate_bits_per_s);
                self.paths.push(row);
            }
        }
    }

    fn add(&mut self, device: Device, selection: &Selection) {
        let name = &device.name;
        self.problems
            .extend(device.problems.iter().map(|it| format!("{name}: {it}")));
        let no_limit_reason = device.no_limit_reason();
        let limits = || device.queues.iter().filter_map(|queue| queue.limits);
        let (limited_queues, bytes) = (limits().count(), limits().filter_map(|it| it.limit));
        let sum_limits_bytes = bytes.fold(0, u64::saturating_add);
        let queues = device.queues.iter();
        let rows = queues.filter(|queue| selection.has_queue(queue.number));
        let rows = rows.filter_map(|queue| {
            Some(QueueRow {
                device: name.clone(),
                queue: queue.number,
                rate_bits_per_s: selection.rate_bits_per_s.or(device.speed_bits_per_s),
                limits: queue.limits?,
                tx_timeouts: queue.tx_timeouts,
                path: None,
            })
        });
        self.devices.push(DeviceRow {
            rows: rows.collect(),
            limited_queues,
            sum_limits_bytes,
            driver: device.driver,
            is_virtual: device.kind == DeviceKind::Virtual,
            no_limit_reason,
            mtu_bytes: device.mtu_bytes,
            tx_packets: device.tx_packets,
            problems: device.problems,
            name: device.name,
        });
    }
}
