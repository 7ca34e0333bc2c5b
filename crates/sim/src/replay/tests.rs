//! Replays of bench traces.

use proptest::prelude::*;

use super::*;
use crate::nic::{InterruptRule, NicConfig, RareGap};
use crate::single_queue_bench::{Rule, SingleQueueConfig, observe_with};
use taut_measure::trace::{Head, Recorder, Tracer};

const RATE: u64 = 1_000_000_000;

fn head() -> Head {
    Head {
        scenario: "test".to_owned(),
        seed: 1,
        taut_version: "0".to_owned(),
    }
}

fn config() -> SingleQueueConfig {
    let nic = NicConfig {
        interrupt: InterruptRule::every(250_000),
        ..NicConfig::plain(RATE, 4096)
    };
    SingleQueueConfig {
        backlog_packets: 500,
        end_ns: 2_000_000_000,
        ..SingleQueueConfig::saturated(nic, 1514)
    }
}

/// Returns the trace of a saturated bench, and the bytes in flight of a rule in it.
fn traced(rule: &Rule) -> (Traffic, u64, u64) {
    traced_of(&config(), rule)
}

fn traced_of(config: &SingleQueueConfig, rule: &Rule) -> (Traffic, u64, u64) {
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, &head());
    recorder.row("a", &rule.to_string());
    let seen = observe_with(config, rule, Tracer(Some(&mut recorder))).unwrap();
    recorder.finish().unwrap();
    let mut all = read(&bytes[..]).unwrap();
    let traffic = all.pop().unwrap();
    (traffic, seen.in_flight_bytes.p50, seen.in_flight_mean_bytes)
}

#[test]
fn device_rate_is_determined() {
    let (traffic, ..) = traced(&Rule::dql());
    let off = traffic.rate_bits_per_s.abs_diff(RATE);
    assert!(off < RATE / 50, "{}", traffic.rate_bits_per_s);
}

#[test]
fn device_rate_is_that_of_the_busiest_window() {
    // One object per 2 us, then per 1 us, then per 4 us; another is always in flight.
    let gaps_ns = [2_000, 1_000, 4_000].map(|gap_ns| [gap_ns; 1_100]);
    let mut text = format!("{}\nrow\ta\tdql\n0\tsent\t1000\t0\t0\n", head());
    let mut at_ns = 0;
    for gap_ns in gaps_ns.as_flattened() {
        at_ns += gap_ns;
        text += &format!("{at_ns}\tsent\t1000\t0\t0\n{at_ns}\tcompleted\t1000\t1\n");
    }
    let traffic = read(text.as_bytes()).unwrap().pop().unwrap();
    assert_eq!(traffic.rate_bits_per_s, 8_000_000_000);
}

/// The replay is open-loop, but the sender of the bench is saturating.
#[test]
fn replay_has_the_bytes_of_the_run() {
    let (traffic, ..) = traced(&Rule::dql());
    for rule in [
        Rule::dql(),
        Rule::bytes(64 << 10),
        Rule::bytes(90_000),
        Rule::taut(),
    ] {
        let (_, p50, mean) = traced(&rule);
        let replayed = replay(&traffic, &rule, traffic.rate_bits_per_s, 4096).unwrap();
        for (there, here) in [
            (p50, replayed.in_flight_bytes.p50),
            (mean, replayed.in_flight_mean_bytes),
        ] {
            assert!(
                there.abs_diff(here) * 100 <= there * 15,
                "{rule}: {there} there, {here} here"
            );
        }
    }
}

/// Returns the mean bytes in flight of a run under a rule, and of the replay of its trace.
fn there_and_here(config: &SingleQueueConfig, rule: &Rule) -> (u64, u64) {
    let (traffic, _, mean) = traced_of(config, rule);
    assert!(mean.abs_diff(traffic.in_flight_mean_bytes) * 100 <= mean);
    let replayed = replay(&traffic, rule, traffic.rate_bits_per_s, 4096).unwrap();
    (mean, replayed.in_flight_mean_bytes)
}

#[test]
fn late_polls_are_late_in_replay() {
    let mut late = config();
    late.nic.interrupt.rare_gap = Some(RareGap {
        one_in: 200,
        gap_ns: 5_000_000,
    });
    let (on_time, _) = there_and_here(&config(), &Rule::dql());
    let (there, here) = there_and_here(&late, &Rule::dql());
    assert!(there > 4 * on_time, "{there} late, {on_time} on time");
    assert!(there.abs_diff(here) * 100 <= there * 15, "{there}, {here}");
}

/// There are no batches while a long object is sent: nothing was finished, and the poll was not
/// late. Less exact than with short objects: the trace lacks the segment headers, and batches
/// follow completions.
#[test]
fn long_objects_are_not_late_polls() {
    let mut long = config();
    long.object_bytes = vec![65_226, 1514, 40_000, 700];
    for rule in [Rule::dql(), Rule::taut()] {
        let (there, here) = there_and_here(&long, &rule);
        assert!(
            there.abs_diff(here) * 100 <= there * 20,
            "{rule}: {there}, {here}"
        );
    }
}

#[test]
fn only_too_small_a_limit_starves_the_device() {
    let (traffic, ..) = traced(&Rule::dql());
    let dry = |rule: &Rule| replay(&traffic, rule, RATE, 4096).unwrap().dry_ns;
    assert!(
        dry(&Rule::bytes(3000)) > 1_000_000_000,
        "{}",
        dry(&Rule::bytes(3000))
    );
    assert!(dry(&Rule::off()) < 10_000_000, "{}", dry(&Rule::off()));
}

#[test]
fn all_sent_packets_are_replayed() {
    let (traffic, ..) = traced(&Rule::dql());
    let bytes: u64 = traffic.arrivals.iter().map(|it| u64::from(it.bytes)).sum();
    let every = Rule {
        coalesce_ns: 1_000_000,
        ..Rule::dql()
    };
    for rule in [Rule::off(), Rule::bytes(0), every] {
        let replayed = replay(&traffic, &rule, RATE, 64).unwrap();
        assert_eq!(replayed.sent_bytes, bytes, "{rule}");
    }
}

/// An event that a replay reads from a trace.
fn event() -> impl Strategy<Value = String> {
    let bytes = 1u32..70_000;
    prop_oneof![
        bytes
            .clone()
            .prop_map(|bytes| format!("enqueue\t{bytes}\t0\t0")),
        bytes
            .clone()
            .prop_map(|bytes| format!("sent\t{bytes}\t0\t0")),
        bytes.prop_map(|bytes| format!("drop\t{bytes}\t0\t0\tdevice_refused")),
        any::<(u32, u32)>().prop_map(|(bytes, packets)| format!("completed\t{bytes}\t{packets}")),
    ]
}

/// Time 0 and the maximum are frequent, because their sums overflow.
fn wild_ns() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0u64..2_000_000]
}

#[test]
fn decreasing_time_has_no_duration() {
    let times = [0, u64::MAX, 0, u64::MAX, 0, u64::MAX];
    let lines = times.map(|at_ns| format!("{at_ns}\tsent\t1000\t0\t0\n{at_ns}\tcompleted\t1\t1\n"));
    let text = format!("{}\nrow\ta\tdql\n{}", head(), lines.concat());
    let traffic = read(text.as_bytes()).unwrap().pop().unwrap();
    assert_eq!((traffic.arrivals.len(), traffic.batches.len()), (6, 2));
    assert_eq!(traffic.rate_bits_per_s, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_trace_of_any_times_is_read_and_replayed(
        events in prop::collection::vec((wild_ns(), event()), 0..60),
        limit in 0u32..100_000,
    ) {
        let lines = events.iter().map(|(at_ns, event)| format!("{at_ns}\t{event}\n"));
        let lines: String = lines.collect();
        let text = format!("{}\nrow\ta\tdql\n{lines}", head());
        let traffic = read(text.as_bytes()).unwrap().pop().unwrap();
        let rate = traffic.rate_bits_per_s.max(1_000);
        prop_assert!(replay(&traffic, &Rule::bytes(limit), rate, 8).is_ok());
    }

    #[test]
    fn any_traffic_is_replayed_to_its_end(
        packets in prop::collection::vec((0u64..2_000_000, 1u32..70_000), 0..60),
        batches in prop::collection::vec((0u64..2_000_000, 0u64..100_000), 0..60),
        rate in 1_000u64..10_000_000_000,
        limit in 0u32..100_000,
    ) {
        let mut traffic = Traffic {
            arrivals: packets.iter().map(|&(at_ns, bytes)| Arrival { at_ns, bytes }).collect(),
            batches: batches.iter().map(|&(at_ns, busy_ns)| Batch {
                at_ns,
                finished_ns: at_ns.saturating_sub(busy_ns),
            }).collect(),
            ..Traffic::default()
        };
        traffic.arrivals.sort();
        traffic.batches.sort_unstable();
        traffic.batches.dedup_by_key(|it| it.at_ns);
        let bytes: u64 = packets.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
        let replayed = replay(&traffic, &Rule::bytes(limit), rate, 8).unwrap();
        prop_assert_eq!(replayed.sent_bytes, bytes);
    }
}
