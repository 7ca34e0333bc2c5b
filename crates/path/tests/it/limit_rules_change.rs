//! The ladder while it is young, and after a change of the device.

use crate::limit_rules::{SECOND_NS, US, interrupts, last_above, lost_ns};
use crate::support::Random;
use crate::trace::{Pattern, Played, play};
use taut_path::limit::{Dynamic, Ladder, Need};

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

/// No rule that holds the largest need so far can lose less than `need`, which forgets nothing in its first second.
#[test]
fn a_new_ladder_loses_little_more_in_its_first_second_than_the_largest_need_so_far_does() {
    let lost_ns = |played: Played| played.lost_warm_ns;
    let seeds = 1..=8;
    let largest: u64 = (seeds.clone())
        .map(|seed| lost_ns(play(&exponential(seed), Need::default())))
        .sum();
    let ladder: u64 = seeds
        .map(|seed| lost_ns(play(&exponential(seed), Ladder::default())))
        .sum();
    assert!(ladder * 2 <= largest * 3, "{ladder} against {largest}");
}

/// 6 s at one rate in bytes a us, then 3 s at the other.
fn rate_change(before: f64, after: f64, gap_ns: impl FnMut() -> u64) -> Pattern {
    Pattern {
        rates: vec![(0, before), (6 * SECOND_NS, after)],
        ..Pattern::saturated(interrupts(9, gap_ns, || 0), 6 * SECOND_NS)
    }
}

#[test]
fn the_ladder_is_lifted_to_a_link_ten_times_faster() {
    let pattern = rate_change(12.5, 125.0, || 250 * US);
    let linux = lost_ns(&pattern, &play(&pattern, Dynamic::default()));
    let ladder = lost_ns(&pattern, &play(&pattern, Ladder::default()));
    assert!(ladder <= 2.0 * linux, "{ladder} against {linux}");
}

/// Whatever was owed at ten times the rate is worth a tenth of its bytes: or 3 s would not be enough to pay it.
#[test]
fn the_ladder_follows_a_link_ten_times_slower_also_where_much_was_owed() {
    let mut random = Random(9);
    let pattern = rate_change(125.0, 12.5, || exponential_ns(&mut random));
    let played = play(&pattern, Ladder::default());
    // It ends at 9 KB, and was at 90 KB.
    let settled_ns = last_above(&played, 20_000) - 6 * SECOND_NS;
    assert!(settled_ns < 2 * SECOND_NS, "{settled_ns}");
}

/// Gaps 500 times longer than before: nine octaves, where the accounts of eight are kept.
#[test]
fn a_need_hundreds_of_times_larger_is_found_in_its_fourth_interval() {
    let long_ns = 10_000 * US;
    let mut all = interrupts(1, || 20 * US, || 0);
    all.extend(interrupts(1, || long_ns, || 0));
    let played = play(&Pattern::saturated(all, SECOND_NS - 1), Ladder::default());
    // A packet less than the link sends in such a gap.
    let enough = 125 * 10_000 - 1_514;
    let found = played.limits.iter().find(|limit| limit.1 >= enough);
    let found_ns = found.expect("it is found").0 - SECOND_NS;
    assert!(found_ns <= 4 * long_ns, "{found_ns}");
}
