//! Tests of a bench's measurements and their start.

use super::*;
use crate::nic::FinishedAt;

/// A byte takes a ns.
const RATE: u64 = 8_000_000_000;

/// One object of 1,000 bytes per 10 us, until 100 us.
fn light() -> SingleQueueConfig {
    SingleQueueConfig {
        source: TrafficSource::Bursts {
            packets: 1,
            every_ns: 10_000,
            jitter_ns: 0,
        },
        end_ns: 99_999,
        ..SingleQueueConfig::saturated(NicConfig::plain(RATE, 64), 1_000)
    }
}

fn run(config: &SingleQueueConfig, rule: &Rule) -> Observed {
    observe(config, rule).expect("it runs")
}

#[test]
fn packet_finished_at_start_is_not_held() {
    let mut config = light();
    config.nic.finished_at = FinishedAt::Start;
    let seen = run(&config, &Rule::off());
    assert_eq!((seen.held_ns.len(), seen.held_ns.max()), (10, 0));
    assert_eq!(
        (seen.latency_ns.min(), seen.latency_ns.max()),
        (1_000, 1_000)
    );
}

#[test]
fn hold_time_counts_reaps_in_measured_time_only() {
    let config = SingleQueueConfig {
        measure_from_ns: 50_000,
        ..light()
    };
    let seen = run(&config, &Rule::off());
    assert_eq!((seen.held_ns.len(), seen.latency_ns.len()), (5, 5));
}

#[test]
fn last_packet_is_dropped() {
    // One packet is sent, two are queued, and two of three new ones find no room.
    let config = SingleQueueConfig {
        source: TrafficSource::Bursts {
            packets: 1,
            every_ns: 300,
            jitter_ns: 0,
        },
        backlog_packets: 2,
        measure_from_ns: 10_000,
        ..light()
    };
    let seen = run(&config, &Rule::bytes(0));
    assert!(seen.drops > 200, "{}", seen.drops);
    // An accepted packet arrives within 300 ns of free room, and waits for two packets.
    let latencies_ns = (seen.latency_ns.min(), seen.latency_ns.max());
    assert!(
        latencies_ns.0 >= 2_690 && latencies_ns.1 <= 3_010,
        "{latencies_ns:?}"
    );
}

#[test]
fn waking_the_sender_costs_the_core() {
    // Of three objects, one is sent and one is queued; the sender sleeps with the third.
    let config = SingleQueueConfig {
        source: TrafficSource::Bursts {
            packets: 3,
            every_ns: 10_000,
            jitter_ns: 0,
        },
        backlog_packets: 1,
        cost: Cost {
            packet_ns: 100,
            wakeup_ns: 700,
            interrupt_ns: 0,
        },
        // Between two bursts.
        measure_from_ns: 5_000,
        ..light()
    };
    let seen = run(&config, &Rule::bytes(0));
    let busy_ns = seen.core_share * (config.end_ns - config.measure_from_ns) as f64;
    assert_eq!((seen.wakeups, busy_ns.round()), (9, 9.0 * 1_000.0));
}

#[test]
fn sends_that_fail_before_the_measured_time_do_not_count() {
    let failed = |measure_from_ns, end_ns| {
        let config = SingleQueueConfig {
            source: TrafficSource::Blind(WhenFull::Spin(70)),
            backlog_packets: 2,
            measure_from_ns,
            end_ns,
            ..light()
        };
        run(&config, &Rule::bytes(0)).failed_sends
    };
    // Failures at time 0 are before any measured time.
    let (first, later) = (failed(0, 50_000), failed(50_000, 100_000));
    assert!(first > 500 && later > 500, "{first}, {later}");
    assert_eq!(first + later, failed(0, 100_000));
}

#[test]
fn urgent_packet_waits_for_unsent_packets() {
    let config = SingleQueueConfig {
        source: TrafficSource::Bursts {
            packets: 10,
            every_ns: 1_000_000,
            jitter_ns: 0,
        },
        sample_ns: 1_000,
        ..light()
    };
    let seen = run(&config, &Rule::off());
    let delays_ns = seen.urgent_delay_ns.iter_recorded();
    let delays_ns: Vec<u64> = delays_ns.map(|it| it.value_iterated_to() / 1_000).collect();
    assert_eq!(delays_ns, Vec::from_iter(0..=10), "in objects");
}
