//! E10: blind sleeps reduce throughput by a closed form, spinning keeps the core busy, waiting for
//! room does neither.

use crate::support::{number, row, run_with, show};

#[test]
fn only_waiting_costs_neither_throughput_nor_core() {
    let found = run_with("blind-sender", &[("duration", "\"500ms\"")]);
    show(&found);
    let of = |when_full| row(&found, &[("when_full", when_full)]);
    for (when_full, asleep_s) in [
        ("sleep 18ms", 18e-3),
        // A sender woken by a tick falls asleep just after it, and so always has the worst case.
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
    // At most one wake-up per interrupt.
    assert!(
        (1_000.0..=20_001.0).contains(&number(waits, "wakeups_per_s")),
        "{waits}"
    );
    for row in &found.rows {
        assert_eq!(number(row, "dropped_packets"), 0.0, "{row}");
    }
    // 23 ms is the mean over senders that fall asleep anywhere between two ticks; this one is
    // synchronous with the clock.
    let missed: Vec<_> = found
        .figures
        .iter()
        .filter(|figure| !figure.is_within_tenth())
        .collect();
    assert_eq!(found.figures.len(), 4);
    assert_eq!(missed.len(), 1, "{missed:?}");
    assert_eq!(missed[0].published, [23.0]);
}

#[test]
fn expensive_calls_let_the_ring_drain() {
    let found = run_with(
        "blind-sender",
        &[("call", "\"100ns\""), ("duration", "\"500ms\"")],
    );
    show(&found);
    let slept = row(&found, &[("when_full", "sleep 18ms")]);
    // A burst exceeds 1,023 by at most the packets that the wire sends in the meantime, and by
    // less: a ring that was full once restarts only at its watermark.
    let burst = number(slept, "rate_kpps") * 1e3 / number(slept, "wakeups_per_s");
    let taken = burst * 100e-9 * 1e9 / 672.0;
    assert!(
        (1_023.0 + 0.3 * taken..1_023.0 + taken).contains(&burst),
        "{burst}"
    );
    let waits = row(&found, &[("when_full", "wait for room")]);
    // Each packet costs 100 ns: 1.488 M/s take 15 % of the core.
    assert!(
        (number(waits, "core_share") - 0.1488).abs() < 0.002,
        "{waits}"
    );
}

#[test]
fn sleep_as_long_as_the_run_ends() {
    let found = run_with(
        "blind-sender",
        &[
            ("long_sleep", "\"400ms\""),
            ("ticks", "[\"300ms\"]"),
            ("duration", "\"400ms\""),
        ],
    );
    let slept = row(&found, &[("when_full", "sleep 400ms, tick 300ms")]);
    // It wakes after 600 ms, and sends one burst in the measured 400 ms.
    let sent = number(slept, "rate_kpps") * 400.0;
    assert!((sent - 1_023.0).abs() < 1e-6, "{slept}");
}
