//! Queues that grew alone send together: without a budget their limits add up for about a second.

use crate::support::{number, row, run_with, show};

const OBJECT: f64 = 1_514.0;

#[test]
fn a_budget_holds_eight_queues_to_what_one_link_needs() {
    let found = run_with("shared-budget", &[]);
    show(&found);
    let of = |budget| row(&found, &[("budget", budget)]);
    let (none, fixed, dql) = (of("none"), of("fixed"), of("dql"));
    let law = 2.0 * OBJECT * 100e-6 * 1e9 / (1_538.0 * 8.0);
    for row in [none, fixed, dql] {
        // Twice what the link takes in an interval for each queue, and two objects more at most,
        // unless a budget kept the queue from growing so far.
        let own = number(row, "own_limits_bytes") / 8.0;
        assert!(own <= law + 2.0 * OBJECT, "{row}");
        assert!(number(row, "utilisation") > 0.995, "{row}");
        assert!(number(row, "least_of_most_served") > 0.95, "{row}");
    }
    // A soft limit admits one object more.
    let sum = number(none, "own_limits_bytes");
    let peak = number(none, "in_flight_peak_bytes");
    assert!(
        (8.0 * law - 8.0 * OBJECT..=sum + 8.0 * OBJECT).contains(&peak),
        "{none}"
    );
    // Not before the hold time of 1 s has passed, and a step of the course later at most.
    let full = number(none, "full_until_ms");
    assert!((990.0..=1_010.0).contains(&full), "{none}");

    let most = 25_000.0 + 8.0 * OBJECT;
    assert!(number(fixed, "in_flight_peak_bytes") <= most, "{fixed}");
    assert_eq!(number(fixed, "above_one_limit_ms"), 0.0, "{fixed}");
    // With a budget the queues never have all that their own limits admit.
    for budget in [fixed, dql] {
        assert_eq!(number(budget, "full_until_ms"), 0.0, "{budget}");
    }
    // The rule over all queues finds about what one queue would.
    assert!(
        number(dql, "in_flight_mean_bytes") <= law + 8.0 * OBJECT,
        "{dql}"
    );
    assert!(number(dql, "in_flight_peak_bytes") < 0.5 * peak, "{dql}");

    // The least fixed budget that is enough: less than twice what the link takes in an interval,
    // for that is enough for one queue alone, and more than half of that.
    let least = number(none, "least_fixed_bytes");
    assert!((0.25 * law..law).contains(&least), "{none}");
    // What one queue sent and did not report yet counts as in flight, so the device seems busy.
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
    assert_eq!(number(none, "above_one_limit_ms"), 0.0, "{none}");
    for key in ["utilisation", "least_of_most_served"] {
        assert!(number(fixed, key) > 0.99, "{fixed}");
    }
}
