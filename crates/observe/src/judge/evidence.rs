//! The observations that the rules judge.

use taut_linux::observe::{NoLimitReason, Offload, Qdisc, Sample, offload, qdiscs};

use super::trend::Trend;
use crate::gather::{DeviceRow, Host, Inventory};
use crate::row::QueueRow;

/// Shortest time without a change that makes a blocked queue a dead one, in ns.
const STUCK_NS: u64 = 100_000_000;
/// The same as a multiple of the time that the link needs for the bytes in flight.
const STUCK_LINK_TIMES: u64 = 4;
/// Fewest equal samples in that time.
const STUCK_SAMPLES: usize = 5;

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
    /// The device before the observation, without its queues; why no limit works is known after it.
    pub row: DeviceRow,
    /// Length of the observation.
    pub watched_ns: u64,
    /// Packets sent during the observation.
    pub new_sent_packets: Option<u64>,
    /// What the driver segments; `None` if that is not known here.
    pub offload: Option<Offload>,
    /// The first observed queue.
    pub first_queue: u32,
    /// Every observed queue was blocked without a change.
    pub all_stuck: bool,
    /// The first observed queue was not.
    pub first_queue_moves: bool,
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
    /// Bytes that the discipline passed on during the observation.
    pub new_sent_bytes: Option<u64>,
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
    /// Returns the largest plain packet with its Ethernet header.
    pub fn packet_bytes(&self) -> u64 {
        self.row.mtu_bytes.unwrap_or(1500).saturating_add(14)
    }
}

impl QueueEvidence {
    fn new(
        before: QueueRow,
        after: Option<&DeviceRow>,
        samples: &[Sample],
        [earlier, later]: [&[Qdisc]; 2],
    ) -> Self {
        let after = after.and_then(|it| it.rows.iter().find(|it| it.queue == before.queue));
        let grown = |counter: fn(&QueueRow) -> Option<u64>| {
            after.and_then(|after| counter(after)?.checked_sub(counter(&before)?))
        };
        let qdisc = Qdisc::feeding(later, before.queue).cloned();
        let sent = |before: &Qdisc| qdisc.as_ref()?.sent_bytes.checked_sub(before.sent_bytes);
        Self {
            trend: Trend::of(samples),
            new_sent_bytes: Qdisc::feeding(earlier, before.queue).and_then(sent),
            new_stalls: grown(|row| row.limits.stalls),
            new_timeouts: grown(|row| row.tx_timeouts),
            qdisc,
            row: before,
        }
    }

    /// Returns `true` if the queue was blocked and did not change while it was watched.
    pub fn is_stuck(&self, watched_ns: u64) -> bool {
        self.trend.still == self.trend.samples && self.blocked_ns(watched_ns).is_some()
    }

    /// Returns for how long the queue has been blocked without a change, if a queue that works
    /// cannot be for that long.
    pub fn blocked_ns(&self, watched_ns: u64) -> Option<u64> {
        let Trend {
            samples,
            still,
            last,
            excess,
            ..
        } = self.trend;
        let ns = u128::from(watched_ns) * still as u128 / samples.max(1) as u128;
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        let link_ns = self.row.link_time_ns(Some(last.in_flight)).unwrap_or(0);
        let required_ns = STUCK_NS.max(link_ns.saturating_mul(STUCK_LINK_TIMES));
        let is_blocked = last.in_flight > 0 && last.in_flight >= last.limit && excess == 0;
        (is_blocked && still >= STUCK_SAMPLES && ns >= required_ns).then_some(ns)
    }
}

/// Reads the disciplines of each device of `inventory`; none if netlink cannot read them.
pub fn disciplines(host: &Host, inventory: &Inventory) -> Vec<Vec<Qdisc>> {
    let read = |device: &DeviceRow| qdiscs(host.namespace.as_ref()?, &device.name).ok();
    let devices = inventory.devices.iter();
    devices.map(|it| read(it).unwrap_or_default()).collect()
}

/// Combines the rows before and after an observation with the samples and the `earlier`
/// disciplines, both in the order of `before`.
pub fn collect(
    host: &Host,
    before: Inventory,
    after: &Inventory,
    samples: Vec<Vec<Sample>>,
    earlier: &[Vec<Qdisc>],
    watched_ns: u64,
) -> Vec<Evidence> {
    let later = disciplines(host, &before);
    let mut samples = samples.into_iter();
    let mut all = Vec::new();
    for (mut row, disciplines) in before.devices.into_iter().zip(earlier.iter().zip(&later)) {
        let after = after.devices.iter().find(|it| it.name == row.name);
        if let Some(after) = after {
            row.no_limit_reason.clone_from(&after.no_limit_reason);
        }
        let rows = std::mem::take(&mut row.rows);
        let samples: Vec<Vec<Sample>> = samples.by_ref().take(rows.len()).collect();
        let mut device = DeviceEvidence {
            watched_ns,
            new_sent_packets: after.and_then(|it| it.tx_packets?.checked_sub(row.tx_packets?)),
            offload: (host.namespace.as_ref()).and_then(|it| offload(it, &row.name).ok()),
            first_queue: rows.first().map_or(0, |row| row.queue),
            row,
            ..DeviceEvidence::default()
        };
        let reason = device.row.no_limit_reason.as_ref();
        if rows.is_empty() || reason.is_some_and(NoLimitReason::is_structural) {
            let queue = None;
            all.push(Evidence { device, queue });
            continue;
        }
        let queue = |(row, samples): (QueueRow, Vec<Sample>)| {
            QueueEvidence::new(row, after, &samples, [disciplines.0, disciplines.1])
        };
        let queues: Vec<QueueEvidence> = rows.into_iter().zip(samples).map(queue).collect();
        let is_stuck = |it: &QueueEvidence| it.is_stuck(watched_ns);
        device.all_stuck = queues.iter().all(is_stuck);
        device.first_queue_moves = queues.first().is_some_and(|it| !is_stuck(it));
        all.extend(queues.into_iter().map(|queue| Evidence {
            device: device.clone(),
            queue: Some(queue),
        }));
    }
    all
}
