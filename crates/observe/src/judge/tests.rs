//! The rules on their cases, on anything, and on the queues of this machine.

use taut_linux::observe::{ByteLimits, QueueSampler, Sample, Sysfs};

use super::cases::{CASES, healthy, queue, row};
use super::evidence::Evidence;
use super::finding::Verdict::{self, Ok, Warn};
use super::rules::RULES;
use super::trend::Trend;

fn verdict(rule: &str, evidence: &Evidence) -> Option<Verdict> {
    let rule = RULES.iter().find(|it| it.name == rule).expect("a rule");
    (rule.judge)(evidence).map(|it| it.verdict)
}

#[test]
fn rules_match_their_cases() {
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
fn rules_have_cases_with_and_without_warning() {
    for rule in RULES {
        let of_rule = CASES.iter().filter(|(name, ..)| *name == rule.name);
        let verdicts: Vec<Verdict> = of_rule.map(|&(_, _, verdict)| verdict).collect();
        assert!(verdicts.iter().any(|it| *it >= Warn), "{rule:?}");
        assert!(verdicts.iter().any(|it| *it < Warn), "{rule:?}");
    }
}

#[test]
fn healthy_queue_is_ok() {
    for rule in RULES {
        let found = (rule.judge)(&healthy());
        assert!(found.is_none_or(|it| it.verdict == Ok), "{rule:?}");
        let mut idle = healthy();
        queue(&mut idle).trend = Trend::of(
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
fn texts_of_rules_are_complete() {
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

/// No content of sysfs makes a rule panic.
mod any_values {
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
        fn no_values_make_a_rule_panic(
            values in prop::collection::vec(number(), 16),
            samples in prop::collection::vec((any::<u64>(), any::<u64>()), 0..9),
            is_virtual in any::<bool>(),
        ) {
            let mut it = healthy();
            let sample = |(limit, in_flight)| Sample { limit, in_flight };
            queue(&mut it).trend = Trend::of(&samples.into_iter().map(sample).collect::<Vec<_>>());
            let device = &mut it.device;
            device.row.is_virtual = is_virtual;
            device.row.limited_queues = 2;
            device.row.sum_limits_bytes = values[0].unwrap_or(0);
            (device.row.mtu_bytes, device.row.tx_packets) = (values[1], values[2]);
            device.new_sent_packets = values[3];
            queue(&mut it).new_stalls = values[4];
            queue(&mut it).new_timeouts = values[5];
            let row = row(&mut it);
            row.rate_bits_per_s = values[6];
            row.tx_timeouts = values[7];
            row.limits = ByteLimits {
                limit: values[8],
                in_flight: values[9],
                limit_min: values[10],
                limit_max: values[11],
                hold_time_ms: values[12],
                stall_threshold_ms: values[13],
                stalls: values[14],
                longest_stall_ms: values[15],
            };
            for rule in RULES {
                let _ = (rule.judge)(&it);
            }
        }
    }
}

/// Sampling any queue of this machine gives a trend.
#[test]
fn queues_of_this_machine_can_be_sampled() {
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
