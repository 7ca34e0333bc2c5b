//! Queues with limits learned alone send together: without a budget, their limits add up for about
//! a second.

use crate::support::{number, row, run_with, show};

const OBJECT: f64 = 1_514.0;

#[test]
fn budget_limits_eight_queues() {
    let found = run_with("shared-budget", &[]);
    show(&found);
    let of = |budget| row(&found, &[("budget", budget)]);
    let (none, fixed, dql) = (of("none"), of("fixed"), of("dql"));
    let law = 2.0 * OBJECT * 100e-6 * 1e9 / (1_538.0 * 8.0);
    for row in [none, fixed, dql] {
        // Twice the bytes that the link sends in an interval of each queue, and at most two objects
        // more, unless a budget limited the queue's growth.
        let own = number(row, "own_limits_bytes") / 8.0;
        assert!(own <= law + 2.0 * OBJECT, "{row}");
        assert!(number(row, "utilisation") > 0.995, "{row}");
        assert!(number(row, "min_vs_max_served") > 0.95, "{row}");
    }
    // A soft limit admits one object more.
    let sum = number(none, "own_limits_bytes");
    let peak = number(none, "in_flight_peak_bytes");
    assert!(
        (8.0 * law - 8.0 * OBJECT..=sum + 8.0 * OBJECT).contains(&peak),
        "{none}"
    );
    // After the hold time of 1 s, and at most a sample of the time series later.
    let full = number(none, "full_until_ms");
    assert!((990.0..=1_010.0).contains(&full), "{none}");

    assert_eq!(found.figures.len(), 2);
    let max = 25_000.0 + 8.0 * OBJECT;
    assert!(number(fixed, "in_flight_peak_bytes") <= max, "{fixed}");
    // With a budget, the bytes in flight never reach the sum of the own limits.
    for budget in [fixed, dql] {
        assert_eq!(number(budget, "full_until_ms"), 0.0, "{budget}");
    }
    // The rule over all queues finds about the limit of one queue.
    assert!(
        number(dql, "in_flight_mean_bytes") <= law + 8.0 * OBJECT,
        "{dql}"
    );
    assert!(number(dql, "in_flight_peak_bytes") < 0.5 * peak, "{dql}");

    // The smallest sufficient fixed budget is less than twice the bytes that the link sends in an
    // interval, because that is sufficient for one queue alone, and more than half of that.
    let smallest = number(none, "optimum_bytes");
    assert!((0.25 * law..law).contains(&smallest), "{none}");
    // Packets that one queue sent and did not report count as in flight, so the device appears
    // busy.
    let row = of("taut");
    assert!(number(row, "utilisation") >= 0.98, "{row}");
    assert!(number(row, "mean_of_least_fixed") <= 1.25, "{row}");
}

#[test]
fn one_queue_needs_no_budget() {
    let found = run_with(
        "shared-budget",
        &[("queues", "1"), ("together", "\"200ms\"")],
    );
    let none = row(&found, &[("budget", "none")]);
    let fixed = row(&found, &[("budget", "fixed")]);
    // A soft limit admits one object more.
    let max = number(none, "own_limits_bytes") + OBJECT;
    assert!(number(none, "in_flight_peak_bytes") <= max, "{none}");
    for key in ["utilisation", "min_vs_max_served"] {
        assert!(number(fixed, key) > 0.99, "{fixed}");
    }
}
