//! E5: the limit grows fast, shrinks slowly, and is exceeded by one object at most.
#![cfg(feature = "scenario")]

mod scenario_support;

use scenario_support::{number, row, run_with, show};

#[test]
fn the_limit_grows_fast_shrinks_slowly_and_is_exceeded_by_one_object_at_most() {
    let found = run_with("limit-over-time", &[("duration", "\"2500ms\"")]);
    show(&found);
    for row in &found.rows {
        let object = number(row, "largest_object_bytes");
        assert!(number(row, "overshoot_bytes") <= object, "{row}");
        // A decrease needs a window of 1 s, and 2.5 s have two at most.
        assert!(number(row, "decreases") <= 2.0, "{row}");
    }
    let of = |traffic| row(&found, &[("traffic", traffic)]);
    for (traffic, counted, per_s) in [
        ("minimal", 66.0, 1e9 / (84.0 * 8.0)),
        ("maximal", 1_514.0, 10e9 / (1_538.0 * 8.0)),
    ] {
        let low = 2.0 * counted * per_s * 50e-6;
        let limit = number(of(traffic), "limit_bytes");
        assert!(
            (low - counted..=low + 2.0 * counted).contains(&limit),
            "{limit}"
        );
        // "Can more than double."
        assert!(
            number(of(traffic), "largest_growth_factor") > 2.0,
            "{traffic}"
        );
    }
    // Each step of the ramp at least about doubles: log2 of the final packets, and some to spare.
    let ramp = of("minimal, first ramp-up");
    assert!(number(ramp, "increases") <= 12.0, "{ramp}");
    assert!(number(ramp, "to_90_percent_us") <= 12.0 * 50.0, "{ramp}");
    // Noise never makes the queue busy for a whole interval, and never more than it queued at once.
    let idle = of("idle with noise");
    assert!(number(idle, "limit_bytes") <= 2.0 * 2.0 * 1_514.0, "{idle}");
    assert_eq!(found.series.len(), 8);
}
