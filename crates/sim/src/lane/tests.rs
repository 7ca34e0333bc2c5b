//! What a lane counts, and from when on.

use super::*;
use crate::nic::FinishedAt;

/// A byte takes a ns.
const RATE: u64 = 8_000_000_000;

/// An object of 1,000 bytes each 10 us, until 100 us.
fn light() -> LaneConfig {
    LaneConfig {
        source: Source::Bursts {
            packets: 1,
            every_ns: 10_000,
            jitter_ns: 0,
        },
        end_ns: 99_999,
        ..LaneConfig::saturated(NicConfig::plain(RATE, 64), 1_000)
    }
}

fn run(config: &LaneConfig, rule: &Rule) -> Observed {
    observe(config, rule).expect("it runs")
}

#[test]
fn what_is_finished_at_its_start_is_not_held_and_leaves_at_its_end() {
    let mut config = light();
    config.nic.finished_at = FinishedAt::Start;
    let seen = run(&config, &Rule::off());
    assert_eq!((seen.held_ns.len(), seen.held_ns.max()), (10, 0));
    assert_eq!(
        (seen.latency_ns.min(), seen.latency_ns.max()),
        (1_000, 1_000)
    );
}
