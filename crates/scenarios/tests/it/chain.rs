//! A row of switches with a queue at each.

use crate::support::{number, refusal, row, run_with, show};

#[test]
fn a_stream_along_the_row_is_served_as_one_across_a_trunk_where_queueing_is_fair() {
    let found = run_with(
        "chain",
        &[
            ("limits", "[\"dql\"]"),
            ("qdiscs", "[\"pfifo limit 200\", \"fq_codel\"]"),
            ("warm_up", "\"3s\""),
            ("duration", "\"5s\""),
        ],
    );
    show(&found);
    let of = |qdisc: &str, what: &str| number(row(&found, &[("qdisc", qdisc)]), what);
    let share = |qdisc: &str| of(qdisc, "along_bps") / of(qdisc, "across_bps");
    assert!(share("fq_codel") > 0.7, "{}", share("fq_codel"));
    assert!(
        share("pfifo limit 200") < 0.6,
        "{}",
        share("pfifo limit 200")
    );
    // Three trunks of 5 ms and two links of 1 ms, both ways, are 34 ms.
    let request = of("fq_codel", "request_p50_us");
    assert!((34_000.0..40_000.0).contains(&request), "{request}");
}

#[test]
fn the_longest_row_has_64_hosts_and_no_longer_one_is_taken() {
    let found = run_with(
        "chain",
        &[
            ("switches", "31"),
            ("streams", "1"),
            ("limits", "[\"dql\"]"),
            ("qdiscs", "[\"fq_codel\"]"),
            ("warm_up", "\"1s\""),
            ("duration", "\"1s\""),
        ],
    );
    let across = number(row(&found, &[("limit", "dql")]), "across_bps");
    assert!(across > 40e6, "{across}");
    let error = refusal("chain", "switches", "32");
    assert_eq!(error, "switches is 32; allowed: 2 to 31");
}
