//! The loss budget on patterns of completions: its bytes in flight over those of the lowest fixed
//! limit with the same utilisation, and its losses.

use crate::support::Random;
use crate::trace::{Pattern, Played, optimum, play};
use taut_dql::Config;
use taut_path::limit::{Dynamic, Limit, LossBudget};

pub const US: u64 = 1_000;
pub const SECOND_NS: u64 = 1_000_000_000;

/// Interrupts for `seconds`, `gap_ns` apart, each with a sender that is late by `delay_ns`.
pub fn interrupts(
    seconds: u64,
    mut gap_ns: impl FnMut() -> u64,
    mut delay_ns: impl FnMut() -> u64,
) -> Vec<(u64, u64)> {
    let mut at_ns = 0;
    let mut all = Vec::new();
    while at_ns < seconds * SECOND_NS {
        let gap_ns = gap_ns();
        at_ns += gap_ns;
        all.push((gap_ns, delay_ns()));
    }
    all
}

fn jitter() -> Pattern {
    let mut random = Random(1);
    let gap_ns = || (80 + random.below(41)) * US;
    Pattern::saturated(interrupts(4, gap_ns, || 0), SECOND_NS)
}

fn one_gap_in_a_hundred() -> Pattern {
    let mut random = Random(2);
    let gap_ns = || {
        if random.below(100) == 0 {
            1_000 * US
        } else {
            100 * US
        }
    };
    Pattern::saturated(interrupts(6, gap_ns, || 0), 2 * SECOND_NS)
}

/// Rounds of polling: a few close together, then a long one.
fn rounds() -> Pattern {
    let mut random = Random(3);
    let gap_ns = || [5, 5, 10, 20, 300][random.below(5) as usize] * US;
    Pattern::saturated(interrupts(3, gap_ns, || 0), SECOND_NS)
}

/// A sender that takes up to 50 us to come back.
fn late_sender() -> Pattern {
    let mut random = Random(4);
    let delay_ns = || random.below(50) * US;
    Pattern::saturated(interrupts(4, || 100 * US, delay_ns), SECOND_NS)
}

/// A sender that comes back when most of an interval is over: what was left then is finished at the next interrupt,
/// however early the device was done with it.
fn back_before_the_next() -> Pattern {
    Pattern::saturated(interrupts(3, || 30 * US, || 24 * US), SECOND_NS)
}

/// A sender that is away for a third of an interval.
fn away_for_a_third() -> Pattern {
    let (mut random, mut other) = (Random(9), Random(10));
    let gap_ns = || 24_000 + random.below(12_001);
    let delay_ns = || 7_200 + other.below(3_601);
    Pattern::saturated(interrupts(3, gap_ns, delay_ns), SECOND_NS)
}

/// A sender that is away for a tenth of an interval.
fn away_for_a_tenth() -> Pattern {
    let (mut random, mut other) = (Random(11), Random(12));
    let gap_ns = || 196_000 + random.below(8_001);
    let delay_ns = || 19_600 + other.below(801);
    Pattern::saturated(interrupts(3, gap_ns, delay_ns), SECOND_NS)
}

/// Reaps of at most four packets, one after another.
fn partial_reaps() -> Pattern {
    let mut random = Random(5);
    let gap_ns = || (80 + random.below(41)) * US;
    Pattern {
        budget: 4,
        ..Pattern::saturated(interrupts(4, gap_ns, || 0), SECOND_NS)
    }
}

/// 10 Gbit/s in rounds of 16 packets, each refilled before the next: eight rounds' worth in a gap of 160 us.
fn refilled_rounds() -> Pattern {
    let mut random = Random(8);
    let gap_ns = || (40 + random.below(121)) * US;
    Pattern {
        rates: vec![(0, 1_250.0)],
        budget: 16,
        poll_ns: 4 * US,
        ..Pattern::saturated(interrupts(2, gap_ns, || 0), SECOND_NS)
    }
}

/// Batches of at most 16 packets: many small ones, and a GSO packet that takes five intervals.
fn gso_packets_in_partial_reaps() -> Pattern {
    let mut random = Random(7);
    let gap_ns = || (80 + random.below(41)) * US;
    let mut object_bytes = vec![66; 20];
    object_bytes.extend([1_514; 5]);
    object_bytes.push(65_226);
    Pattern {
        budget: 16,
        object_bytes,
        ..Pattern::saturated(interrupts(4, gap_ns, || 0), 2 * SECOND_NS)
    }
}

struct Row {
    name: &'static str,
    pattern: Pattern,
    /// The largest mean bytes of the rule, over those of the optimum.
    ratio: f64,
}

fn rows() -> Vec<Row> {
    let row = |name, pattern, ratio| Row {
        name,
        pattern,
        ratio,
    };
    vec![
        row("jitter", jitter(), 1.05),
        row("one gap in a hundred", one_gap_in_a_hundred(), 1.05),
        row("rounds", rounds(), 1.11),
        row("late sender", late_sender(), 1.15),
        row("back before the next", back_before_the_next(), 1.1),
        row("away for a third", away_for_a_third(), 1.1),
        row("away for a tenth", away_for_a_tenth(), 1.1),
        row("partial reaps", partial_reaps(), 1.15),
        row("GSO packets", gso_packets_in_partial_reaps(), 1.15),
        row("refilled rounds", refilled_rounds(), 1.3),
    ]
}

#[test]
fn rule_holds_as_much_as_the_optimum() {
    for row in rows() {
        let (_, best) = optimum(&row.pattern, 0.999);
        let played = play(&row.pattern, LossBudget::default());
        let ratio = played.mean_bytes / best.mean_bytes;
        assert!(ratio <= row.ratio, "{}: ratio {ratio}", row.name);
        let utilisation = played.utilisation;
        assert!(utilisation >= 0.999, "{}: {utilisation}", row.name);
    }
}

/// Gaps of 1 ms that cost less than a thousandth of the link.
#[test]
fn gaps_within_the_loss_budget_do_not_raise_the_limit() {
    let mut random = Random(6);
    let gap_ns = || {
        if random.below(20_000) == 0 {
            1_000 * US
        } else {
            100 * US
        }
    };
    let pattern = Pattern::saturated(interrupts(12, gap_ns, || 0), 2 * SECOND_NS);
    let played = play(&pattern, LossBudget::default());
    assert!(played.utilisation >= 0.999, "{}", played.utilisation);
    assert!(played.mean_bytes < 12_000.0, "{}", played.mean_bytes);
}

#[test]
fn gain_over_linux_rule() {
    let linux_of = |pattern: &Pattern| {
        let (_, best) = optimum(pattern, 0.999);
        let linux = play(pattern, Dynamic::default());
        (linux.mean_bytes / best.mean_bytes, linux.utilisation)
    };
    assert!(linux_of(&jitter()).0 > 2.4);
    assert!(linux_of(&one_gap_in_a_hundred()).0 > 2.0);
    assert!(linux_of(&rounds()).0 > 2.4);
    // If each batch of a reap is passed as an interval, its limit is too small.
    assert!(linux_of(&partial_reaps()).1 < 0.99);
}

/// 3 s of gaps of the one length, then of the other.
fn change(before_ns: u64, after_ns: u64) -> Pattern {
    let mut all = interrupts(3, || before_ns, || 0);
    all.extend(interrupts(3, || after_ns, || 0));
    Pattern::saturated(all, 2_999_000_000)
}

/// Link time lost in the measured time.
pub fn lost_ns(pattern: &Pattern, played: &Played) -> f64 {
    let total_ns: u64 = pattern.interrupts.iter().map(|&(gap_ns, _)| gap_ns).sum();
    (total_ns - pattern.warm_ns) as f64 * (1.0 - played.utilisation)
}

#[test]
fn longer_gaps_cost_three_times_linux_rule() {
    let pattern = change(100 * US, 1_000 * US);
    let linux = lost_ns(&pattern, &play(&pattern, Dynamic::default()));
    let lost = lost_ns(&pattern, &play(&pattern, LossBudget::default()));
    assert!(lost <= 3.0 * linux, "{lost} against {linux}");
}

#[test]
fn new_queue_loses_five_times_linux_rule() {
    for (name, pattern) in [
        ("jitter", jitter()),
        ("one gap in a hundred", one_gap_in_a_hundred()),
        ("rounds", rounds()),
        ("GSO packets", gso_packets_in_partial_reaps()),
        ("partial reaps", partial_reaps()),
    ] {
        let linux = play(&pattern, Dynamic::default()).lost_warm_ns;
        let lost = play(&pattern, LossBudget::default()).lost_warm_ns;
        assert!(lost <= 5 * linux, "{name}: {lost} against {linux}");
    }
}

/// When the limit was above `bytes` last, in ns.
pub fn last_above(played: &Played, bytes: u32) -> u64 {
    let mut limits = played.limits.iter().rev();
    let last = limits.find(|&&(_, limit_bytes)| limit_bytes > bytes);
    last.map_or(0, |&(at_ns, _)| at_ns)
}

#[test]
fn limit_shrinks_after_shorter_gaps() {
    let pattern = change(1_000 * US, 100 * US);
    let played = play(&pattern, LossBudget::default());
    let settled_ns = last_above(&played, 16_000) - 3 * SECOND_NS;
    // The limit falls by 83 KB/s.
    assert!(settled_ns < SECOND_NS * 3 / 2, "{settled_ns}");
}

/// Half a second of gaps of 1 ms, half a second of 100 us, again and again: shrinking each time
/// would lose link time each time.
#[test]
fn periodic_gaps_lose_at_most_the_budget() {
    let mut all = Vec::new();
    for _ in 0..8 {
        all.extend([(1_000 * US, 0)].repeat(500));
        all.extend([(100 * US, 0)].repeat(5_000));
    }
    let played = play(&Pattern::saturated(all, SECOND_NS), LossBudget::default());
    assert!(played.utilisation >= 0.999, "{}", played.utilisation);
}

fn settled(played: &Played) -> u32 {
    played.limits.last().expect("there were rounds").1
}

#[test]
fn limit_equals_completions_of_an_interval() {
    let pattern = Pattern::saturated(interrupts(2, || 100 * US, || 0), SECOND_NS);
    // 100 us at 1 Gbit/s are 8.26 packets of 1,514 bytes: nine at most finish in one interval.
    let packets = settled(&play(&pattern, LossBudget::default())).div_ceil(1_514);
    assert!((8..=10).contains(&packets), "{packets}");
    // Linux's keeps twice that.
    assert!(settled(&play(&pattern, Dynamic::default())) >= 25_000);
}

#[test]
fn limit_stays_within_its_bounds() {
    let mut limit = LossBudget::default();
    let config = Config {
        limit: 3 * 1_514,
        min_limit: 3 * 1_514,
        max_limit: 6 * 1_514,
        ..limit.config()
    };
    limit.set_config(config).expect("the bounds are in order");
    let settles_at = |gap_ns: u64| {
        let pattern = Pattern::saturated(interrupts(1, || gap_ns, || 0), 0);
        settled(&play(&pattern, limit.clone()))
    };
    assert_eq!(settles_at(12 * US), 3 * 1_514, "a packet or two are enough");
    let limit = settles_at(100 * US);
    assert!(
        (8_900..=6 * 1_514).contains(&limit),
        "nine packets are necessary: {limit}"
    );
}
