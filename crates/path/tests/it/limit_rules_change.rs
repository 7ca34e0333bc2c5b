//! The loss budget of a new queue, and after a change of the device.

use crate::limit_rules::{SECOND_NS, US, interrupts, last_above, lost_ns};
use crate::support::Random;
use crate::trace::{Pattern, Played, play};
use taut_path::limit::{Dynamic, LossBudget};

/// Exponential gaps of 100 us on average: there is always a longer one to come.
fn exponential_ns(random: &mut Random) -> u64 {
    let even = (random.below(1 << 32) + 1) as f64 / 2_f64.powi(32);
    (-even.ln() * 1e5) as u64 + 1
}

fn exponential(seed: u64) -> Pattern {
    let mut random = Random(seed);
    let gap_ns = || exponential_ns(&mut random);
    Pattern::saturated(interrupts(2, gap_ns, || 0), SECOND_NS)
}

#[test]
fn first_second_loses_four_times_linux_rule() {
    let lost_ns = |played: Played| played.lost_warm_ns;
    let seeds = 1..=8;
    let linux: u64 = (seeds.clone())
        .map(|seed| lost_ns(play(&exponential(seed), Dynamic::default())))
        .sum();
    let lost: u64 = seeds
        .map(|seed| lost_ns(play(&exponential(seed), LossBudget::default())))
        .sum();
    assert!(lost <= linux * 4, "{lost} against {linux}");
}

/// 6 s at one rate in bytes a us, then 3 s at the other.
fn rate_change(before: f64, after: f64, gap_ns: impl FnMut() -> u64) -> Pattern {
    Pattern {
        rates: vec![(0, before), (6 * SECOND_NS, after)],
        ..Pattern::saturated(interrupts(9, gap_ns, || 0), 6 * SECOND_NS)
    }
}

#[test]
fn limit_follows_a_faster_link() {
    let pattern = rate_change(12.5, 125.0, || 250 * US);
    let lost_ns = lost_ns(&pattern, &play(&pattern, LossBudget::default()));
    assert!(lost_ns <= 16.0 * 250e3, "{lost_ns} is more than 16 gaps");
}

/// Losses are worth link time: at a tenth of the rate, a tenth of their bytes.
#[test]
fn limit_follows_a_slower_link() {
    let mut random = Random(9);
    let pattern = rate_change(125.0, 12.5, || exponential_ns(&mut random));
    let played = play(&pattern, LossBudget::default());
    // It ends at 9 KB, and was at 90 KB.
    let settled_ns = last_above(&played, 20_000) - 6 * SECOND_NS;
    assert!(settled_ns < 2 * SECOND_NS, "{settled_ns}");
}

/// Gaps 500 times longer than before: nine doublings.
#[test]
fn gaps_double_the_limit_of_new_queue() {
    let long_ns = 10_000 * US;
    let mut all = interrupts(1, || 20 * US, || 0);
    all.extend(interrupts(1, || long_ns, || 0));
    let played = play(
        &Pattern::saturated(all, SECOND_NS - 1),
        LossBudget::default(),
    );
    // A packet less than the link sends in such a gap.
    let enough = 125 * 10_000 - 1_514;
    let found = played.limits.iter().find(|limit| limit.1 >= enough);
    let found_ns = found.expect("it is found").0 - SECOND_NS;
    assert!(found_ns <= 14 * long_ns, "{found_ns}");
}
