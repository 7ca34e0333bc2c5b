//! The observations that the rules judge.

use taut_linux::NetNs;
use taut_linux::observe::{NoLimitReason, Offload, Qdisc, Sample, offload, qdiscs};

use super::trend::Trend;
use super::watch::{Length, Samples};
use crate::gather::{DeviceRow, Inventory};
use crate::row::QueueRow;

/// Observations of a queue, or of a device without a byte limit.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The device.
    pub device: DeviceEvidence,
    /// The queue; `None` for a device without a byte limit.
    pub queue: Option<QueueEvidence>,
}

/// Observations of a device.
#[derive(Debug, Clone, Default)]
pub struct DeviceEvidence {
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
    /// Length of the observation.
    pub watched_ns: u64,
    /// Packets sent since the device was created.
    pub sent_packets: Option<u64>,
    /// Packets sent during the observation.
    pub new_sent_packets: Option<u64>,
    /// What the driver segments; `None` if that is not known here.
    pub offload: Option<Offload>,
    /// Sum of the limits of its queues.
    pub sum_limits_bytes: u64,
    /// Number of its queues with a limit.
    pub limited_queues: usize,
    /// The first of them.
    pub first_queue: u32,
}

/// Observations of a queue.
#[derive(Debug, Clone, Default)]
pub struct QueueEvidence {
    /// The queue before the observation.
    pub row: QueueRow,
    /// Its samples, summarised.
    pub trend: Trend,
    /// Stalls during the observation.
    pub new_stalls: Option<u64>,
    /// Watchdog timeouts during the observation.
    pub new_timeouts: Option<u64>,
    /// The discipline that feeds the queue; `None` if that is not known here.
    pub qdisc: Option<Qdisc>,
}

impl Evidence {
    /// Returns the number of the queue.
    pub fn queue_number(&self) -> Option<u32> {
        self.queue.as_ref().map(|it| it.row.queue)
    }
}

impl DeviceEvidence {
    fn new(before: &DeviceRow, after: Option<&DeviceRow>, offload: Option<Offload>) -> Self {
        let limits = before.rows.iter().filter_map(|row| row.limits.limit);
        Self {
            name: before.name.clone(),
            driver: before.driver.clone(),
            is_virtual: before.is_virtual,
            no_limit_reason: after.unwrap_or(before).no_limit_reason,
            mtu_bytes: before.mtu_bytes,
            watched_ns: 0,
            sent_packets: before.tx_packets,
            new_sent_packets: after
                .and_then(|after| after.tx_packets?.checked_sub(before.tx_packets?)),
            offload,
            sum_limits_bytes: limits.fold(0, u64::saturating_add),
            limited_queues: before.rows.len(),
            first_queue: before.rows.first().map_or(0, |row| row.queue),
        }
    }

    /// Returns the largest plain packet with its Ethernet header.
    pub fn packet_bytes(&self) -> u64 {
        self.mtu_bytes.unwrap_or(1500).saturating_add(14)
    }
}

impl QueueEvidence {
    fn new(
        before: QueueRow,
        after: Option<&DeviceRow>,
        samples: &[Sample],
        disciplines: Option<&[Qdisc]>,
    ) -> Self {
        let after = after.and_then(|it| it.rows.iter().find(|it| it.queue == before.queue));
        let grown = |counter: fn(&QueueRow) -> Option<u64>| {
            after.and_then(|after| counter(after)?.checked_sub(counter(&before)?))
        };
        Self {
            trend: Trend::of(samples),
            new_stalls: grown(|row| row.limits.stalls),
            new_timeouts: grown(|row| row.tx_timeouts),
            qdisc: disciplines.and_then(|all| Qdisc::feeding(all, before.queue).cloned()),
            row: before,
        }
    }
}

/// Combines the rows before and after an observation with the samples. Netlink and ethtool are read
/// only in a `namespace` that is given.
pub fn collect(
    before: Inventory,
    after: &Inventory,
    mut samples: Samples,
    length: &Length,
    namespace: Option<&NetNs>,
) -> Vec<Evidence> {
    let mut all = Vec::new();
    for before in before.devices {
        let after = after.devices.iter().find(|it| it.name == before.name);
        let disciplines = namespace.and_then(|it| qdiscs(it, &before.name).ok());
        let offload = namespace.and_then(|it| offload(it, &before.name).ok());
        let device = DeviceEvidence {
            watched_ns: length.length_ns,
            ..DeviceEvidence::new(&before, after, offload)
        };
        if before.rows.is_empty() {
            all.push(Evidence {
                device,
                queue: None,
            });
            continue;
        }
        for row in before.rows {
            let samples = samples.take(&row);
            let queue = QueueEvidence::new(row, after, &samples, disciplines.as_deref());
            all.push(Evidence {
                device: device.clone(),
                queue: Some(queue),
            });
        }
    }
    all
}
