//! E13: super-packets in pieces give back what they throw away, and cost no goodput.

use crate::support::{number, row, run_with, show};

#[test]
fn requests_pass_super_packets_that_are_cut_as_they_pass_segments() {
    let found = run_with(
        "split",
        &[
            ("rates", "[\"100mbit\"]"),
            ("limits", "[\"taut\"]"),
            ("splits", "[\"off\", \"250us\", \"all\"]"),
            ("warm_up", "\"1s\""),
            ("duration", "\"1s\""),
        ],
    );
    show(&found);
    let of = |split: &str, what: &str| number(row(&found, &[("split", split)]), what);
    let [off, time, all] = ["off", "250us", "all"].map(|split| of(split, "rr_tps"));
    let sender = of("sender", "rr_tps");
    assert!(time >= 5.0 * off, "{time} of {off}");
    assert!(all >= 0.8 * sender, "{all} of {sender}");
    assert!(time >= 0.5 * sender, "{time} of {sender}");
    let whole = of("off", "goodput_bps");
    for split in ["250us", "all"] {
        let goodput = of(split, "goodput_bps");
        assert!(goodput >= 0.99 * whole, "{split}: {goodput} of {whole}");
    }
}
