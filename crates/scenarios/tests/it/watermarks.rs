//! E8: interrupt rate of a card, and the best low watermark of a full ring.

use crate::support::{number, row, run_with, show};

const LINE_KPPS: f64 = 1e6 / 672.0;

/// Packets take the part of the core that interrupts leave: 5 us and 400 ns. An interrupt also
/// reaps the packets that leave while it is served, so it reports up to `packets` and those of 5
/// us.
fn served_kpps(packets: f64) -> f64 {
    let mut per_us = 1.0;
    for _ in 0..100 {
        per_us = 0.5 * (per_us + 1.0 / (0.4 + 5.0 / (packets + 5.0 * per_us)));
    }
    1e3 * per_us
}

#[test]
fn low_watermark_is_best_below_the_middle() {
    let found = run_with(
        "watermarks",
        &[
            ("duration", "\"30ms\""),
            ("interrupt_packets", "[1, 10, 32, 256, 384]"),
            ("watermark_sixteenths", "[1, 4, 8, 12, 15]"),
            ("upstream_quarters", "[1, 4, 80]"),
        ],
    );
    show(&found);
    for row in &found.rows {
        let packets = number(row, "interrupt_packets");
        let most_kpps = LINE_KPPS.min(served_kpps(packets));
        let kpps = number(row, "rate_kpps");
        assert!(kpps <= 1.01 * most_kpps, "{row}");
        assert!(number(row, "core_share") <= 1.01, "{row}");
    }
    let at = |packets, watermark, upstream| {
        row(
            &found,
            &[
                ("load", "saturated"),
                ("interrupt_packets", packets),
                ("watermark", watermark),
                ("upstream_rings", upstream),
            ],
        )
    };
    // N = 10 cannot reach the line rate, N = 256 and 384 can.
    let of_line = |row| number(row, "rate_kpps") / LINE_KPPS;
    assert!(of_line(at("10", "0.5", "1.0")) < 0.98);
    assert!(of_line(at("256", "0.5", "1.0")) > 0.998);
    assert!(of_line(at("384", "0.25", "1.0")) > 0.998);
    // A small buffer above the ring is sufficient; a large one costs latency without a benefit.
    let (small, large) = (at("384", "0.25", "1.0"), at("384", "0.25", "20.0"));
    assert!((number(small, "rate_kpps") / number(large, "rate_kpps") - 1.0).abs() < 2e-3);
    let latency = |row| number(row, "latency_mean_us");
    assert!(latency(large) > 5.0 * latency(small), "{small} {large}");
    // 20 rings and one wait before the wire, 344 us each, minus the room that a batch leaves.
    assert!(
        (18.0 * 344.0..=21.1 * 344.0).contains(&latency(large)),
        "{large}"
    );
    let light = |packets| {
        let of = [("load", "light"), ("interrupt_packets", packets)];
        number(row(&found, &of), "held_mean_us")
    };
    // Packets are held until N of them have left: about N / 2 gaps of 100 us.
    assert!((400.0..=600.0).contains(&light("10")), "{}", light("10"));
    // A watermark that interrupts cannot reach: 256 of 512 are reported, the others only by the
    // timer.
    assert!(of_line(at("256", "0.0625", "1.0")) < 0.1);
    // A watermark so high that the sender is woken constantly, and waits behind a full ring.
    let (high, middle) = (at("32", "0.9375", "1.0"), at("32", "0.5", "1.0"));
    assert!(
        number(high, "core_share") > number(middle, "core_share") + 0.05,
        "{high}"
    );
    assert!(latency(high) > latency(middle) + 100.0, "{high}");
    assert!(of_line(at("32", "0.5", "1.0")) > 0.998);
    assert_eq!(found.figures.len(), 2);
    for figure in &found.figures {
        assert!(figure.is_within_tenth(), "{figure:?}");
    }
}
