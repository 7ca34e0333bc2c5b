//! E11: where the limit costs throughput, and where it must not.

use crate::support::{number, run_with, show};

#[test]
fn the_limit_costs_throughput_only_where_completions_are_uneven() {
    let found = run_with("never-worse", &[("cases", "200"), ("packets", "5000")]);
    show(&found);
    let (groups, listed): (Vec<_>, Vec<_>) =
        found.rows.iter().partition(|row| row["case"].is_null());
    let sum = |key| groups.iter().map(|row| number(row, key)).sum::<f64>();
    assert_eq!(sum("cases"), 200.0);
    assert_eq!(sum("listed"), listed.len() as f64);
    for row in &listed {
        assert!(number(row, "worst_loss_percent") > 1.0, "{row}");
        // Only where the rule has not met the long gap yet, or a reap in rounds hides that the wire
        // ran dry.
        let pattern = row["pattern"].as_str();
        assert!(matches!(pattern, Some("long gaps" | "rounds")), "{row}");
    }
    for row in &groups {
        // A limit never lets more into the ring than no limit does.
        let [off, on] =
            ["off", "on"].map(|with| number(row, &format!("in_flight_mean_{with}_bytes")));
        assert!(on <= 1.01 * off, "{row}");
    }
}
