//! The coalescer: nothing is lost, delayed by more than a period, or released early.

use proptest::prelude::*;
use taut_dql::Coalescer;

const NO_LIMIT: u32 = u32::MAX;

#[test]
fn period_of_zero_releases_everything() {
    let mut coalescer = Coalescer::new(0);
    assert_eq!(coalescer.add(7, NO_LIMIT, 5), Some(7));
    assert_eq!(coalescer.add(8, NO_LIMIT, 5), Some(8));
    assert_eq!((coalescer.pending(), coalescer.next_wakeup()), (0, None));
}

#[test]
fn first_completion_is_immediate_and_starts_the_period() {
    let mut coalescer = Coalescer::new(100);
    assert_eq!(coalescer.add(1, NO_LIMIT, 1000), Some(1));
    assert_eq!(coalescer.add(2, NO_LIMIT, 1001), None);
    assert_eq!(coalescer.add(4, NO_LIMIT, 1099), None);
    assert_eq!(
        (coalescer.pending(), coalescer.next_wakeup()),
        (6, Some(1100))
    );
    assert_eq!(coalescer.add(8, NO_LIMIT, 1100), Some(14));
}

#[test]
fn timer_releases_the_last_units() {
    let mut coalescer = Coalescer::new(100);
    assert_eq!(coalescer.poll(0), None);
    assert_eq!(coalescer.add(1, NO_LIMIT, 0), Some(1));
    assert_eq!(coalescer.add(2, NO_LIMIT, 10), None);
    assert_eq!(coalescer.poll(99), None);
    assert_eq!(coalescer.poll(100), Some(2));
    assert_eq!((coalescer.poll(300), coalescer.next_wakeup()), (None, None));
}

#[test]
fn release_is_early_above_the_limit() {
    let mut coalescer = Coalescer::new(100);
    assert_eq!(coalescer.add(1, 3000, 0), Some(1));
    assert_eq!(coalescer.add(1500, 3000, 1), None);
    assert_eq!(
        coalescer.add(1500, 3000, 2),
        None,
        "as much as the limit is not more"
    );
    assert_eq!(coalescer.add(1, 3000, 3), Some(3001));
    assert_eq!(
        coalescer.add(10, 3000, 102),
        None,
        "an early release starts a period too"
    );
    assert_eq!(coalescer.next_wakeup(), Some(103));
}

#[test]
fn period_that_expired_while_idle_is_over() {
    let mut coalescer = Coalescer::new(100);
    assert_eq!(coalescer.add(1, NO_LIMIT, 0), Some(1));
    assert_eq!(coalescer.add(2, NO_LIMIT, 100_000), Some(2));
    assert_eq!(coalescer.add(3, NO_LIMIT, 100_001), None);
    assert_eq!(coalescer.next_wakeup(), Some(100_100));
}

#[test]
fn empty_release_starts_no_period() {
    let mut coalescer = Coalescer::new(100);
    assert_eq!(coalescer.add(0, NO_LIMIT, 0), None);
    assert_eq!(coalescer.add(5, NO_LIMIT, 1), Some(5));
}

#[test]
fn reset_forgets_pending_units_and_keeps_the_period() {
    let mut coalescer = Coalescer::new(100);
    assert_eq!(coalescer.add(1, NO_LIMIT, 0), Some(1));
    assert_eq!(coalescer.add(2, NO_LIMIT, 1), None);
    coalescer.reset();
    assert_eq!(
        (
            coalescer.pending(),
            coalescer.next_wakeup(),
            coalescer.period_ns()
        ),
        (0, None, 100)
    );
    assert_eq!(coalescer.add(3, NO_LIMIT, 2), Some(3));
}

#[test]
fn extreme_amounts_and_times_do_not_overflow() {
    let mut coalescer = Coalescer::new(u64::MAX);
    assert_eq!(coalescer.add(1, NO_LIMIT, u64::MAX), Some(1));
    assert_eq!(coalescer.add(u32::MAX, NO_LIMIT, u64::MAX - 1), None);
    assert_eq!(coalescer.add(u32::MAX, NO_LIMIT, u64::MAX - 1), None);
    assert_eq!(
        (coalescer.pending(), coalescer.next_wakeup()),
        (u32::MAX, Some(u64::MAX))
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..Default::default()
    })]

    /// Completions at random times, with a timer that is on time or slightly late.
    #[test]
        fn release_is_complete_and_on_time(
        period_ns in 1..500_u64,
        limit in 0..20_000_u32,
        lateness_ns in 0..3_u64,
        rounds in prop::collection::vec((0..5000_u32, 0..400_u64), 1..200),
    ) {
        let mut coalescer = Coalescer::new(period_ns);
        let (mut given, mut handed) = (0_u64, 0_u64);
        let (mut now_ns, mut last_ns) = (0_u64, None::<u64>);
        let mut waiting_since_ns = None;
        for (units, gap_ns) in rounds {
            let next_ns = now_ns + gap_ns;
            if let Some(wakeup_ns) = coalescer.next_wakeup().map(|ns| ns.max(now_ns) + lateness_ns)
                && wakeup_ns < next_ns
            {
                let sum = coalescer.poll(wakeup_ns);
                prop_assert!(sum.is_some_and(|sum| sum > 0), "a wakeup for nothing");
                handed += u64::from(sum.unwrap_or(0));
                let since_last_ns = last_ns.map(|last_ns| wakeup_ns - last_ns);
                prop_assert!(since_last_ns.is_some_and(|ns| ns >= period_ns));
                (last_ns, waiting_since_ns) = (Some(wakeup_ns), None);
            }
            now_ns = next_ns;
            given += u64::from(units);
            let would_be_pending = coalescer.pending() + units;
            match coalescer.add(units, limit, now_ns) {
                Some(sum) => {
                    prop_assert_eq!(sum, would_be_pending);
                    let early = sum > limit;
                    let over = last_ns.is_none_or(|last_ns| now_ns - last_ns >= period_ns);
                    prop_assert!(sum > 0 && (early || over));
                    handed += u64::from(sum);
                    (last_ns, waiting_since_ns) = (Some(now_ns), None);
                }
                None if coalescer.pending() > 0 => {
                    prop_assert!(coalescer.pending() <= limit);
                    let since_ns = *waiting_since_ns.get_or_insert(now_ns);
                    prop_assert!(now_ns - since_ns <= period_ns + lateness_ns);
                }
                None => {}
            }
            prop_assert_eq!(handed + u64::from(coalescer.pending()), given);
        }
    }
}
