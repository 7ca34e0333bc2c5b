//! E10: blind sleeps cost throughput by a closed form, spinning costs the core, waiting for room
//! costs neither.

use crate::support::{number, row, run_with, show};

#[test]
fn a_blind_sleep_costs_throughput_spinning_a_core_and_waiting_for_room_neither() {
    let found = run_with("blind-sender", &[("duration", "\"500ms\"")]);
    show(&found);
    let of = |when_full| row(&found, &[("when_full", when_full)]);
    for (when_full, asleep_s) in [
        ("sleep 18ms", 18e-3),
        // A sender that a tick woke falls asleep just after it, and so always gets the worst.
        ("sleep 18ms, tick 1ms", 19e-3),
        ("sleep 18ms, tick 10ms", 20e-3),
        ("sleep 1ms", 1e-3),
        ("sleep 1ms, tick 1ms", 2e-3),
        ("sleep 1ms, tick 10ms", 10e-3),
    ] {
        let row = of(when_full);
        let per_s = (512.0 + 511.0) / asleep_s;
        let error = number(row, "rate_kpps") * 1e3 / per_s - 1.0;
        // One sleep more or less fits into half a second.
        assert!(error.abs() < asleep_s / 0.5 + 1e-3, "{row}");
        let wakeups = number(row, "wakeups_per_s");
        assert!(
            (wakeups * asleep_s - 1.0).abs() < asleep_s / 0.5 + 1e-3,
            "{row}"
        );
        assert_eq!(number(row, "failed_per_s"), wakeups, "{row}");
    }
    for when_full in ["spin", "wait for room"] {
        assert!(number(of(when_full), "utilisation") > 0.9999, "{when_full}");
    }
    assert!(number(of("spin"), "core_share") > 0.999);
    assert!(number(of("spin"), "failed_per_s") > 4.9e6);
    let waits = of("wait for room");
    assert_eq!(number(waits, "failed_per_s"), 0.0);
    // At most one wake-up for each interrupt.
    assert!(
        (1_000.0..=20_001.0).contains(&number(waits, "wakeups_per_s")),
        "{waits}"
    );
    for row in &found.rows {
        assert_eq!(number(row, "dropped_packets"), 0.0, "{row}");
    }
    // 23 ms is the mean over senders that fall asleep anywhere between two ticks; this one is in
    // step with the clock.
    let missed: Vec<_> = found
        .figures
        .iter()
        .filter(|figure| !figure.is_predicted())
        .collect();
    assert_eq!(found.figures.len(), 4);
    assert_eq!(missed.len(), 1, "{missed:?}");
    assert_eq!(missed[0].published, [23.0]);
}

#[test]
fn calls_that_cost_let_the_ring_drain_meanwhile_and_more_is_sent() {
    let found = run_with(
        "blind-sender",
        &[("call", "\"100ns\""), ("duration", "\"500ms\"")],
    );
    show(&found);
    let slept = row(&found, &[("when_full", "sleep 18ms")]);
    // What a burst adds to 1,023: at most what the wire takes while it is sent; and less than that,
    // since a ring that was full once starts again at its watermark only.
    let burst = number(slept, "rate_kpps") * 1e3 / number(slept, "wakeups_per_s");
    let taken = burst * 100e-9 * 1e9 / 672.0;
    assert!(
        (1_023.0 + 0.3 * taken..1_023.0 + taken).contains(&burst),
        "{burst}"
    );
    let waits = row(&found, &[("when_full", "wait for room")]);
    // Each packet cost 100 ns: 1.488 M/s take 15 % of the core.
    assert!(
        (number(waits, "core_share") - 0.1488).abs() < 0.002,
        "{waits}"
    );
}

#[test]
fn a_sleep_as_long_as_what_is_measured_ends_in_it() {
    let found = run_with(
        "blind-sender",
        &[
            ("long_sleep", "\"400ms\""),
            ("ticks", "[\"300ms\"]"),
            ("duration", "\"400ms\""),
        ],
    );
    let slept = row(&found, &[("when_full", "sleep 400ms, tick 300ms")]);
    // It wakes after 600 ms, and what it sends then is sent once in the 400 ms that are measured.
    let sent = number(slept, "rate_kpps") * 400.0;
    assert!((sent - 1_023.0).abs() < 1e-6, "{slept}");
}
