//! Every rule on a queue in each state that it can tell.

use taut_linux::observe::{
    ByteLimits, LIMIT_MAX_UNSET, Offload, Qdisc, QueueSampler, Sample, Sysfs, WhyNone,
};

use super::evidence::Evidence;
use super::rules::{RULES, Verdict};
use super::trend::Trend;
use crate::observe::row::Row;

use Verdict::{Bad, NotJudged, Ok, Warn};

/// A queue of 1 Gbit/s under load, with nothing wrong: limit 40,000 bytes, which held it at times.
fn healthy() -> Evidence {
    Evidence {
        device: "eth0".to_owned(),
        driver: Some("e1000e".to_owned()),
        mtu_bytes: Some(1500),
        watched_ns: 2_000_000_000,
        trend: trend(40_000, 41_000, 60),
        sent_packets: Some(9_000),
        sent_packets_meanwhile: Some(1_000),
        stalls_meanwhile: Some(0),
        timeouts_meanwhile: Some(0),
        qdisc: Some(qdisc("fq_codel", 3)),
        offload: Some(Offload {
            segmentation: Some(true),
            longest_object_bytes: Some(30_000),
            tx_ring_slots: Some(256),
        }),
        sum_limits_bytes: 40_000,
        limited_queues: 1,
        row: Some(Row {
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
            ..Row::default()
        }),
        ..Evidence::default()
    }
}

/// 100 samples of a limit; something is in flight in half of them, and in `held` percent of those the
/// limit lets nothing more through.
fn trend(limit: u64, most_in_flight: u64, held: u64) -> Trend {
    let sample = |at: u64| Sample {
        limit,
        in_flight: match at {
            _ if at >= 50 => 0,
            _ if at < held / 2 => most_in_flight,
            _ => most_in_flight.min(limit),
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

fn verdict(rule: &str, evidence: &Evidence) -> Option<Verdict> {
    let rule = RULES.iter().find(|it| it.name == rule).expect("a rule");
    (rule.judge)(evidence).map(|it| it.verdict)
}

fn row(it: &mut Evidence) -> &mut Row {
    it.row.as_mut().expect("a row")
}

/// A driver that never reports, with what the device sent since it was made and meanwhile.
fn silent(it: &mut Evidence, sent: u64, meanwhile: u64) {
    row(it).limits.limit = Some(0);
    row(it).limits.in_flight = Some(0);
    it.trend = Trend::of(&[Sample::default(); 100]);
    it.why_none = Some(if sent > 0 {
        WhyNone::NeverReports
    } else {
        WhyNone::Idle
    });
    (it.sent_packets, it.sent_packets_meanwhile) = (Some(sent), Some(meanwhile));
}

/// A device without a byte limit.
fn without(it: &mut Evidence, why: WhyNone) {
    (it.row, it.why_none) = (None, Some(why));
}

/// Limits over time, always with something in flight.
fn course(limits: impl IntoIterator<Item = u64>) -> Trend {
    let sample = |limit| Sample {
        limit,
        in_flight: 1,
    };
    Trend::of(&limits.into_iter().map(sample).collect::<Vec<_>>())
}

type Case = (&'static str, fn(&mut Evidence), Verdict);

const CASES: &[Case] = &[
    ("no-limit", |it| without(it, WhyNone::Hardware), Warn),
    ("no-limit", |it| without(it, WhyNone::Virtual), NotJudged),
    ("never-reports", |_| {}, Ok),
    ("never-reports", |it| silent(it, 9_000, 1_000), Bad),
    ("never-reports", |it| silent(it, 9_000, 0), Warn),
    ("never-reports", |it| silent(it, 0, 0), NotJudged),
    (
        "never-reports",
        |it| {
            silent(it, 9_000, 1_000);
            it.is_virtual = true;
        },
        NotJudged,
    ),
    ("pinned-at-max", |_| {}, Ok),
    (
        "pinned-at-max",
        |it| {
            row(it).limits.limit_max = Some(3000);
            it.trend = trend(3000, 4000, 50);
        },
        Warn,
    ),
    (
        "pinned-at-max",
        |it| {
            row(it).limits.limit_max = Some(3000);
            it.trend = trend(3000, 3000, 0);
        },
        Ok,
    ),
    ("pinned-at-max", |it| it.trend = Trend::default(), NotJudged),
    ("max-set", |_| {}, Ok),
    ("max-set", |it| row(it).limits.limit_max = Some(40_000), Ok),
    (
        "max-set",
        |it| row(it).limits.limit_max = Some(400_000),
        Warn,
    ),
    (
        "max-set",
        |it| {
            row(it).limits.limit_max = Some(400_000);
            it.trend = course([40_000; 8]);
            it.trend.busy = 0;
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
    ("far-above-need", |_| {}, Ok),
    (
        "far-above-need",
        |it| it.trend = trend(400_000, 20_000, 0),
        Warn,
    ),
    (
        "far-above-need",
        |it| {
            it.trend = trend(400_000, 20_000, 0);
            row(it).rate_bits_per_s = Some(10_000_000_000);
        },
        Ok,
    ),
    (
        "far-above-need",
        |it| {
            it.trend = trend(400_000, 20_000, 0);
            row(it).rate_bits_per_s = None;
        },
        Warn,
    ),
    ("collapsed", |_| {}, Ok),
    ("collapsed", |it| it.trend = trend(3028, 4542, 90), Warn),
    ("collapsed", |it| it.trend = trend(3028, 1514, 0), Ok),
    ("not-periodic", |_| {}, Ok),
    (
        "not-periodic",
        |it| it.trend = course((0..90).map(|at| 10_000 + at % 30 * 1_000)),
        Ok,
    ),
    (
        "not-periodic",
        |it| it.trend = course((0..120).map(|at| 10_000 + at % 30 * 1_000)),
        Warn,
    ),
    (
        "not-periodic",
        |it| it.trend = course((0..90).map(|at| 10_000 + at * 1_000)),
        Warn,
    ),
    ("stalls", |_| {}, Ok),
    ("stalls", |it| row(it).limits.stalls = Some(2), Warn),
    (
        "stalls",
        |it| {
            row(it).limits.stalls = Some(2);
            it.stalls_meanwhile = Some(1);
        },
        Bad,
    ),
    (
        "stalls",
        |it| {
            row(it).tx_timeouts = Some(1);
            it.timeouts_meanwhile = Some(1);
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
    ("stopped-by", |_| {}, Ok),
    ("stopped-by", |it| it.trend = trend(40_000, 30_000, 0), Warn),
    (
        "stopped-by",
        |it| {
            it.trend = trend(40_000, 30_000, 0);
            it.qdisc = Some(qdisc("fq_codel", 0));
        },
        Ok,
    ),
    (
        "stopped-by",
        |it| {
            it.trend = trend(40_000, 30_000, 0);
            it.qdisc = None;
        },
        NotJudged,
    ),
    ("no-queue-above", |_| {}, Ok),
    (
        "no-queue-above",
        |it| it.qdisc = Some(qdisc("noqueue", 0)),
        Warn,
    ),
    ("no-queue-above", |it| it.qdisc = None, NotJudged),
    ("single-fifo", |_| {}, Ok),
    (
        "single-fifo",
        |it| it.qdisc = Some(qdisc("pfifo_fast", 0)),
        Warn,
    ),
    (
        "single-fifo",
        |it| {
            it.qdisc = Some(qdisc("pfifo", 0));
            it.is_virtual = true;
        },
        NotJudged,
    ),
    (
        "many-queues",
        |it| (it.limited_queues, it.sum_limits_bytes) = (8, 320_000),
        Ok,
    ),
    (
        "many-queues",
        |it| (it.limited_queues, it.sum_limits_bytes) = (64, 2_560_000),
        Warn,
    ),
    (
        "many-queues",
        |it| {
            (it.limited_queues, row(it).rate_bits_per_s) = (8, None);
        },
        NotJudged,
    ),
    ("large-objects", |_| {}, Ok),
    (
        "large-objects",
        |it| {
            it.offload = it.offload.map(|it| Offload {
                longest_object_bytes: Some(65_536),
                ..it
            });
        },
        Warn,
    ),
    (
        "large-objects",
        |it| {
            it.offload = Some(Offload {
                segmentation: Some(false),
                ..Offload::default()
            });
        },
        Ok,
    ),
    ("large-objects", |it| it.offload = None, NotJudged),
];

#[test]
fn every_rule_says_what_its_cases_say() {
    for (at, (rule, change, expected)) in CASES.iter().enumerate() {
        let mut evidence = healthy();
        change(&mut evidence);
        assert_eq!(
            verdict(rule, &evidence),
            Some(*expected),
            "case {at}: {rule}"
        );
    }
}

#[test]
fn every_rule_has_cases_in_which_it_speaks_up_and_in_which_it_does_not() {
    for rule in RULES {
        let of_rule = CASES.iter().filter(|(name, ..)| *name == rule.name);
        let verdicts: Vec<Verdict> = of_rule.map(|&(_, _, verdict)| verdict).collect();
        assert!(verdicts.iter().any(|it| *it >= Warn), "{rule:?}");
        assert!(verdicts.iter().any(|it| *it < Warn), "{rule:?}");
    }
}

#[test]
fn a_healthy_queue_has_nothing_wrong_and_an_idle_one_is_not_judged() {
    for rule in RULES {
        let found = (rule.judge)(&healthy());
        assert!(found.is_none_or(|it| it.verdict == Ok), "{rule:?}");
        let mut idle = healthy();
        idle.trend = Trend::of(
            &[Sample {
                limit: 40_000,
                in_flight: 0,
            }; 100],
        );
        let found = (rule.judge)(&idle);
        assert!(found.is_none_or(|it| it.verdict <= Ok), "{rule:?}");
    }
}

#[test]
fn texts_are_whole() {
    for rule in RULES {
        for text in [
            rule.help,
            rule.threshold,
            rule.source,
            rule.why,
            rule.advice,
        ] {
            assert!(text.len() > 10 && !text.contains("  "), "{rule:?}: {text}");
        }
    }
}

/// The rules are total: nothing that sysfs can hold makes one panic.
mod garbage {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = Option<u64>> {
        prop_oneof![
            Just(None),
            Just(Some(0)),
            Just(Some(u64::MAX)),
            any::<u64>().prop_map(Some)
        ]
    }

    proptest! {
        #[test]
        fn no_figures_make_a_rule_panic(
            figures in prop::collection::vec(number(), 16),
            samples in prop::collection::vec((any::<u64>(), any::<u64>()), 0..9),
            is_virtual in any::<bool>(),
        ) {
            let mut it = healthy();
            let sample = |(limit, in_flight)| Sample { limit, in_flight };
            it.trend = Trend::of(&samples.into_iter().map(sample).collect::<Vec<_>>());
            it.is_virtual = is_virtual;
            it.limited_queues = 2;
            it.sum_limits_bytes = figures[0].unwrap_or(0);
            (it.mtu_bytes, it.sent_packets) = (figures[1], figures[2]);
            it.sent_packets_meanwhile = figures[3];
            (it.stalls_meanwhile, it.timeouts_meanwhile) = (figures[4], figures[5]);
            let row = row(&mut it);
            row.rate_bits_per_s = figures[6];
            row.tx_timeouts = figures[7];
            row.limits = ByteLimits {
                limit: figures[8],
                in_flight: figures[9],
                limit_min: figures[10],
                limit_max: figures[11],
                hold_time_ms: figures[12],
                stall_threshold_ms: figures[13],
                stalls: figures[14],
                longest_stall_ms: figures[15],
            };
            for rule in RULES {
                let _ = (rule.judge)(&it);
            }
        }
    }
}

/// Whatever this machine has: sampling a real queue gives a trend.
#[test]
fn the_queues_of_this_machine_can_be_sampled() {
    let sysfs = Sysfs::of_process();
    for name in sysfs.devices().expect("list") {
        let device = sysfs.device(&name).expect("device");
        for queue in device.queues.iter().filter(|it| it.limits.is_some()) {
            let sampler = QueueSampler::open(&sysfs, &name, queue.number).expect("opens");
            let samples: Vec<Sample> = (0..9).map(|_| sampler.sample().expect("read")).collect();
            assert_eq!(Trend::of(&samples).samples, 9);
        }
    }
}
