//! All that the rules look at.

use taut_linux::NetNs;
use taut_linux::observe::{Offload, Qdisc, Sample, WhyNone, offload, qdiscs};

use super::trend::Trend;
use super::watch::{Length, Watched};
use crate::observe::gather::{Found, FoundDevice};
use crate::observe::row::Row;

/// A queue, or a device without any that has a limit, and what was seen of it.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    pub device: String,
    /// The queue; `None` for a device without a byte limit.
    pub row: Option<Row>,
    pub is_virtual: bool,
    pub driver: Option<String>,
    pub why_none: Option<WhyNone>,
    pub mtu_bytes: Option<u64>,
    /// How long it was watched.
    pub watched_ns: u64,
    pub trend: Trend,
    /// Packets that the device sent since it was made, and meanwhile.
    pub sent_packets: Option<u64>,
    pub sent_packets_meanwhile: Option<u64>,
    /// Stalls and watchdog timeouts meanwhile.
    pub stalls_meanwhile: Option<u64>,
    pub timeouts_meanwhile: Option<u64>,
    /// The discipline that feeds the queue; `None` if that is not known here.
    pub qdisc: Option<Qdisc>,
    /// What the driver says; `None` if that is not known here.
    pub offload: Option<Offload>,
    /// Limits of all queues of the device together, and how many those are.
    pub sum_limits_bytes: u64,
    pub limited_queues: usize,
    /// The first of them.
    pub first_queue: u32,
}

impl Evidence {
    pub fn queue(&self) -> Option<u32> {
        self.row.as_ref().map(|row| row.queue)
    }

    /// The largest plain packet with its Ethernet header.
    pub fn packet_bytes(&self) -> u64 {
        self.mtu_bytes.unwrap_or(1500).saturating_add(14)
    }
}

/// Puts together what was seen. Only of the devices of a namespace that is given is anything known
/// besides sysfs.
pub fn collect(
    before: Found,
    after: &Found,
    mut watched: Watched,
    length: &Length,
    namespace: Option<&NetNs>,
) -> Vec<Evidence> {
    let mut all = Vec::new();
    for device in before.devices {
        let later = after.devices.iter().find(|it| it.name == device.name);
        let disciplines = namespace.and_then(|it| qdiscs(it, &device.name).ok());
        let about = Evidence {
            device: device.name.clone(),
            is_virtual: device.is_virtual,
            driver: device.driver.clone(),
            why_none: later.unwrap_or(&device).why_none,
            mtu_bytes: device.mtu_bytes,
            watched_ns: length.length_ns,
            sent_packets: device.tx_packets,
            sent_packets_meanwhile: later
                .and_then(|later| later.tx_packets?.checked_sub(device.tx_packets?)),
            offload: namespace.and_then(|it| offload(it, &device.name).ok()),
            sum_limits_bytes: sum_limits_bytes(&device),
            limited_queues: device.rows.len(),
            first_queue: device.rows.first().map_or(0, |row| row.queue),
            ..Evidence::default()
        };
        if device.rows.is_empty() {
            all.push(about);
            continue;
        }
        for row in device.rows {
            let samples: Vec<Sample> = watched.take(&row);
            let then = later.and_then(|it| it.rows.iter().find(|it| it.queue == row.queue));
            let grown = |figure: fn(&Row) -> Option<u64>| {
                then.and_then(|then| figure(then)?.checked_sub(figure(&row)?))
            };
            all.push(Evidence {
                trend: Trend::of(&samples),
                stalls_meanwhile: grown(|row| row.limits.stalls),
                timeouts_meanwhile: grown(|row| row.tx_timeouts),
                qdisc: disciplines
                    .as_ref()
                    .and_then(|all| Qdisc::feeding(all, row.queue).cloned()),
                row: Some(row),
                ..about.clone()
            });
        }
    }
    all
}

fn sum_limits_bytes(device: &FoundDevice) -> u64 {
    let limits = device.rows.iter().filter_map(|row| row.limits.limit);
    limits.fold(0, u64::saturating_add)
}
