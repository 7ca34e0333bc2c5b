//! Every rule on a queue in each state that it distinguishes.

use taut_linux::observe::{ByteLimits, LIMIT_MAX_UNSET, NoLimitReason, Offload, Qdisc, Sample};

use super::evidence::{DeviceEvidence, Evidence, QueueEvidence};
use super::finding::Verdict::{self, Bad, NotJudged, Ok, Warn};
use super::trend::Trend;
use crate::gather::DeviceRow;
use crate::row::QueueRow;

/// A queue of 1 Gbit/s under load without a problem: limit 40,000 bytes, which stops it at times.
pub fn healthy() -> Evidence {
    Evidence {
        device: DeviceEvidence {
            row: DeviceRow {
                name: "eth0".to_owned(),
                driver: Some("e1000e".to_owned()),
                mtu_bytes: Some(1500),
                tx_packets: Some(9_000),
                sum_limits_bytes: 40_000,
                limited_queues: 1,
                ..DeviceRow::default()
            },
            watched_ns: 2_000_000_000,
            new_sent_packets: Some(1_000),
            offload: Some(Offload {
                segmentation: Some(true),
                longest_object_bytes: Some(30_000),
                tx_ring_slots: Some(256),
            }),
            ..DeviceEvidence::default()
        },
        queue: Some(QueueEvidence {
            row: healthy_row(),
            trend: trend(40_000, 41_000, 60),
            new_stalls: Some(0),
            new_timeouts: Some(0),
            new_sent_bytes: Some(0),
            qdisc: Some(qdisc("fq_codel", 3)),
        }),
    }
}

fn healthy_row() -> QueueRow {
    QueueRow {
        device: "eth0".to_owned(),
        rate_bits_per_s: Some(1_000_000_000),
        limits: ByteLimits {
            limit: Some(40_000),
            in_flight: Some(41_000),
            limit_min: Some(0),
            limit_max: Some(LIMIT_MAX_UNSET),
            hold_time_ms: Some(1000),
            stall_threshold_ms: Some(100),
            stalls: Some(0),
            longest_stall_ms: Some(0),
        },
        tx_timeouts: Some(0),
        ..QueueRow::default()
    }
}

/// 100 samples of a limit, half of them busy; in `held` percent of those the limit stops the queue.
fn trend(limit: u64, max_in_flight: u64, held: u64) -> Trend {
    let sample = |at: u64| Sample {
        limit,
        in_flight: match at {
            _ if at >= 50 => 0,
            _ if at < held / 2 => max_in_flight,
            _ => max_in_flight.min(limit),
        },
    };
    Trend::of(&(0..100).map(sample).collect::<Vec<_>>())
}

fn qdisc(kind: &str, backlog_packets: u64) -> Qdisc {
    Qdisc {
        kind: kind.to_owned(),
        backlog_packets,
        ..Qdisc::default()
    }
}

pub fn queue(it: &mut Evidence) -> &mut QueueEvidence {
    it.queue.as_mut().expect("a queue")
}

pub fn row(it: &mut Evidence) -> &mut QueueRow {
    &mut queue(it).row
}

/// Changes to a driver that never reports, with the packets sent in total and recently.
fn silent(it: &mut Evidence, sent: u64, recently: u64) {
    row(it).limits.limit = Some(0);
    row(it).limits.in_flight = Some(0);
    queue(it).trend = Trend::of(&[Sample::default(); 100]);
    let device = &mut it.device;
    device.row.no_limit_reason = Some(if sent > 0 {
        NoLimitReason::NeverReports
    } else {
        NoLimitReason::Idle
    });
    (device.row.tx_packets, device.new_sent_packets) = (Some(sent), Some(recently));
}

/// Changes to a queue that keeps its bytes in flight for the whole observation.
fn stuck(it: &mut Evidence, in_flight: u64, limit: u64) {
    queue(it).trend = Trend::of(&[Sample { limit, in_flight }; 100]);
    row(it).limits.limit = Some(limit);
    row(it).limits.in_flight = Some(in_flight);
    it.device.new_sent_packets = Some(0);
    it.device.all_stuck = true;
}

/// Changes to a queue that is stuck from sample `begin` of 100 on.
fn stuck_from(it: &mut Evidence, begin: u64) {
    stuck(it, 6056, 4542);
    let sample = |at: u64| Sample {
        limit: 4542,
        in_flight: if at < begin { at } else { 6056 },
    };
    queue(it).trend = Trend::of(&(0..100).map(sample).collect::<Vec<_>>());
}

/// Changes to a device without a byte limit.
fn without(it: &mut Evidence, why: NoLimitReason) {
    (it.queue, it.device.row.no_limit_reason) = (None, Some(why));
}

/// A series of limits, always with bytes in flight.
fn series(limits: impl IntoIterator<Item = u64>) -> Trend {
    let sample = |limit| Sample {
        limit,
        in_flight: 1,
    };
    Trend::of(&limits.into_iter().map(sample).collect::<Vec<_>>())
}

pub type Case = (&'static str, fn(&mut Evidence), Verdict);

pub const CASES: &[Case] = &[
    ("no-limit", |it| without(it, NoLimitReason::Hardware), Warn),
    (
        "no-limit",
        |it| without(it, NoLimitReason::Virtual { over: Vec::new() }),
        NotJudged,
    ),
    ("no-limit", |it| without(it, NoLimitReason::Wifi), NotJudged),
    ("unreadable", |_| {}, Ok),
    (
        "unreadable",
        |it| {
            it.device
                .row
                .problems
                .push("cannot read limit: denied".to_owned())
        },
        Warn,
    ),
    ("completions-lost", |_| {}, Ok),
    ("completions-lost", |it| stuck(it, 6056, 4542), Bad),
    ("completions-lost", |it| stuck(it, 4542, 4542), Bad),
    ("completions-lost", |it| stuck(it, 4541, 4542), Ok),
    ("completions-lost", |it| stuck(it, 1514, 0), Bad),
    (
        "completions-lost",
        |it| {
            stuck(it, 6056, 4542);
            it.device.watched_ns = 1_000_000;
        },
        NotJudged,
    ),
    (
        "completions-lost",
        |it| {
            stuck(it, 6056, 4542);
            it.device.new_sent_packets = Some(1000);
        },
        NotJudged,
    ),
    (
        "completions-lost",
        |it| {
            stuck(it, 1514, 0);
            row(it).limits.limit_max = Some(0);
        },
        NotJudged,
    ),
    ("completions-lost", |it| stuck_from(it, 30), Warn),
    ("completions-lost", |it| stuck_from(it, 70), Ok),
    ("excess-completions", |_| {}, Ok),
    (
        "excess-completions",
        |it| stuck(it, 4_294_965_782, 9084),
        Bad,
    ),
    ("never-reports", |_| {}, Ok),
    (
        "never-reports",
        |it| {
            silent(it, 9_000, 1_000);
            row(it).limits.limit_max = Some(0);
        },
        NotJudged,
    ),
    ("never-reports", |it| silent(it, 9_000, 1_000), Bad),
    ("never-reports", |it| silent(it, 9_000, 0), Warn),
    ("never-reports", |it| silent(it, 0, 0), NotJudged),
    (
        "never-reports",
        |it| {
            silent(it, 9_000, 1_000);
            it.device.row.is_virtual = true;
        },
        NotJudged,
    ),
    ("pinned-at-max", |_| {}, Ok),
    (
        "pinned-at-max",
        |it| {
            row(it).limits.limit_max = Some(3000);
            queue(it).trend = trend(3000, 4000, 50);
        },
        Warn,
    ),
    (
        "pinned-at-max",
        |it| {
            row(it).limits.limit_max = Some(3000);
            queue(it).trend = trend(3000, 3000, 0);
        },
        Ok,
    ),
    (
        "pinned-at-max",
        |it| queue(it).trend = Trend::default(),
        NotJudged,
    ),
    ("limit-max-set", |_| {}, Ok),
    (
        "limit-max-set",
        |it| row(it).limits.limit_max = Some(40_000),
        Ok,
    ),
    (
        "limit-max-set",
        |it| row(it).limits.limit_max = Some(400_000),
        Warn,
    ),
    (
        "limit-max-set",
        |it| {
            silent(it, 9_000, 0);
            row(it).limits.limit_max = Some(0);
        },
        Warn,
    ),
    (
        "limit-max-set",
        |it| {
            row(it).limits.limit_max = Some(400_000);
            queue(it).trend = series([40_000; 8]);
            queue(it).trend.busy = 0;
        },
        NotJudged,
    ),
    ("pinned-at-min", |_| {}, Ok),
    (
        "pinned-at-min",
        |it| row(it).limits.limit_min = Some(40_000),
        Warn,
    ),
    (
        "pinned-at-min",
        |it| row(it).limits.limit_min = Some(3000),
        Ok,
    ),
    ("limit-oversized", |_| {}, Ok),
    (
        "limit-oversized",
        |it| queue(it).trend = trend(400_000, 20_000, 0),
        Warn,
    ),
    (
        "limit-oversized",
        |it| {
            queue(it).trend = trend(400_000, 20_000, 0);
            row(it).rate_bits_per_s = Some(10_000_000_000);
        },
        Ok,
    ),
    (
        "limit-oversized",
        |it| {
            queue(it).trend = trend(400_000, 20_000, 0);
            row(it).rate_bits_per_s = None;
        },
        Warn,
    ),
    ("collapsed", |_| {}, Ok),
    (
        "collapsed",
        |it| queue(it).trend = trend(3028, 4542, 90),
        Warn,
    ),
    ("collapsed", |it| queue(it).trend = trend(3028, 1514, 0), Ok),
    ("aperiodic-completions", |_| {}, Ok),
    (
        "aperiodic-completions",
        |it| queue(it).trend = series((0..90).map(|at| 10_000 + at % 30 * 1_000)),
        Ok,
    ),
    (
        "aperiodic-completions",
        |it| queue(it).trend = series((0..120).map(|at| 10_000 + at % 30 * 1_000)),
        Warn,
    ),
    (
        "aperiodic-completions",
        |it| queue(it).trend = series((0..90).map(|at| 10_000 + at * 1_000)),
        Warn,
    ),
    ("stalls", |_| {}, Ok),
    ("stalls", |it| row(it).limits.stalls = Some(2), Warn),
    (
        "stalls",
        |it| {
            row(it).limits.stalls = Some(2);
            queue(it).new_stalls = Some(1);
        },
        Bad,
    ),
    (
        "stalls",
        |it| {
            row(it).tx_timeouts = Some(1);
            queue(it).new_timeouts = Some(1);
        },
        Bad,
    ),
    (
        "stalls",
        |it| {
            row(it).limits.stalls = None;
            row(it).tx_timeouts = None;
        },
        NotJudged,
    ),
    ("stopped-below-limit", |_| {}, Ok),
    (
        "stopped-below-limit",
        |it| queue(it).trend = trend(40_000, 30_000, 0),
        Warn,
    ),
    (
        "stopped-below-limit",
        |it| {
            queue(it).trend = trend(40_000, 30_000, 0);
            queue(it).qdisc = Some(qdisc("fq_codel", 0));
        },
        Ok,
    ),
    (
        "stopped-below-limit",
        |it| {
            queue(it).trend = trend(40_000, 30_000, 0);
            queue(it).qdisc = None;
        },
        NotJudged,
    ),
    ("noqueue", |_| {}, Ok),
    (
        "noqueue",
        |it| queue(it).qdisc = Some(qdisc("noqueue", 0)),
        Warn,
    ),
    ("noqueue", |it| queue(it).qdisc = None, NotJudged),
    ("single-fifo", |_| {}, Ok),
    (
        "single-fifo",
        |it| queue(it).qdisc = Some(qdisc("pfifo_fast", 0)),
        Warn,
    ),
    (
        "single-fifo",
        |it| {
            queue(it).qdisc = Some(qdisc("pfifo", 0));
            it.device.row.is_virtual = true;
        },
        NotJudged,
    ),
    (
        "many-queues",
        |it| (it.device.row.limited_queues, it.device.row.sum_limits_bytes) = (8, 320_000),
        Ok,
    ),
    (
        "many-queues",
        |it| (it.device.row.limited_queues, it.device.row.sum_limits_bytes) = (64, 2_560_000),
        Warn,
    ),
    (
        "many-queues",
        |it| {
            it.device.row.limited_queues = 8;
            row(it).rate_bits_per_s = None;
        },
        NotJudged,
    ),
    ("large-objects", |_| {}, Ok),
    (
        "large-objects",
        |it| {
            it.device.offload = it.device.offload.map(|it| Offload {
                longest_object_bytes: Some(65_536),
                ..it
            });
        },
        Warn,
    ),
    (
        "large-objects",
        |it| {
            it.device.offload = Some(Offload {
                segmentation: Some(false),
                ..Offload::default()
            });
        },
        Ok,
    ),
    ("large-objects", |it| it.device.offload = None, NotJudged),
];
