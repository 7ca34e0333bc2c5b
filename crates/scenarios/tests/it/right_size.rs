//! E4: the limit of one saturating sender converges to the law and to the published results.

use crate::support::{number, row, run_with, show};
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::single_queue_bench::{Cost, Reap, Rule, SingleQueueConfig, TrafficSource, observe};

const GBIT: u64 = 1_000_000_000;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

#[test]
fn published_limits_are_reproduced() {
    let found = run_with(
        "right-size",
        &[("warm_up", "\"2100ms\""), ("duration", "\"100ms\"")],
    );
    show(&found);
    // 84 bytes of link time per packet at 1 Gbit/s, 1538 at 10 Gbit/s: the law from the framing
    // alone.
    let laws = [
        ("minimal", 66.0, 1e9 / (84.0 * 8.0)),
        ("maximal", 1_514.0, 10e9 / (1_538.0 * 8.0)),
    ];
    for (packets, counted, per_s) in laws {
        let row = row(&found, &[("packets", packets)]);
        let low = 2.0 * counted * per_s * 50e-6;
        let law = low..=low + 2.0 * counted;
        for key in ["limit_bytes", "in_flight_max_bytes"] {
            // A histogram's largest value is exact to a thousandth.
            let bytes = number(row, key) / 1.001;
            assert!(law.contains(&bytes), "{packets}, {key}: {bytes} in {law:?}");
        }
        let kpps = number(row, "rate_kpps");
        assert!((kpps * 1e3 / per_s - 1.0).abs() < 1e-3, "{packets}: {kpps}");
    }
    assert_eq!(found.figures.len(), 6);
    for figure in &found.figures {
        assert!(figure.is_within_tenth(), "{figure:?}");
    }
}

fn saturated(rate_bits_per_s: u64, interval_ns: u64, bytes: u32) -> SingleQueueConfig {
    SingleQueueConfig {
        nic: NicConfig {
            rate_bits_per_s,
            framing: Framing::ETHERNET,
            slots: 1 << 16,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(interval_ns),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: 1,
        },
        restart_slots: None,
        reap: Reap::ALL,
        backlog_packets: 100,
        object_bytes: vec![bytes],
        source: TrafficSource::Saturating,
        cost: Cost::default(),
        rate_changes: Vec::new(),
        measure_from_ns: 2_100 * MS,
        end_ns: 2_200 * MS,
        sample_ns: 0,
    }
}

#[test]
fn law_is_valid_at_all_rates_and_intervals() {
    let rates = [
        GBIT / 100,
        GBIT / 10,
        GBIT,
        10 * GBIT,
        100 * GBIT,
        400 * GBIT,
    ];
    for rate in rates {
        // GSO packets where plain ones would be too many: 45 segments of 1448 bytes.
        let (bytes, time_bytes) = match rate {
            0..=GBIT => (1_514.0, 1_538.0),
            _ => (65_226.0, 45.0 * 1_538.0),
        };
        for interval_ns in [10 * US, 100 * US, MS, 10 * MS] {
            if rate == 400 * GBIT && (100 * US..10 * MS).contains(&interval_ns) {
                continue;
            }
            let mut bench = saturated(rate, interval_ns, bytes as u32);
            // The measured time contains many intervals, even slow ones.
            bench.end_ns += 10 * interval_ns;
            let seen = observe(&bench, &Rule::dql()).expect("valid settings");
            let packet_ns = time_bytes * 8e9 / rate as f64;
            let low = 2.0 * bytes * (interval_ns as f64 / packet_ns).max(1.0);
            let peak = seen.in_flight_bytes.max as f64 / 1.001;
            let case = format!("{rate} bit/s, {interval_ns} ns: {peak}, at least {low}");
            assert!((low * 0.998..=low + 2.0 * bytes).contains(&peak), "{case}");
            assert!(f64::from(seen.limit_bytes) <= low + 2.0 * bytes, "{case}");
            // The wire counts whole packets, so one can be missing at the end.
            let measured_ns = (bench.end_ns - bench.measure_from_ns) as f64;
            let smallest = 0.9999 - packet_ns / measured_ns;
            assert!(seen.utilisation > smallest, "{case}: {}", seen.utilisation);
            let ledger = seen.ledger;
            assert_eq!(
                ledger.entered,
                ledger.freed + ledger.waiting + ledger.in_ring,
                "{case}"
            );
        }
    }
}
