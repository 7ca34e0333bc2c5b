//! E9: the limit follows the link rate.

use crate::support::{number, row, run_with, show};
use serde_json::Value;
use taut_scenarios::sweep;

#[test]
fn limit_follows_the_rate() {
    let found = run_with("rate-change", &[("duration", "\"7500ms\"")]);
    show(&found);
    let rates = [1e9, 1e8, 1e9];
    let (found_rows, of_taut) = found.rows.split_at(3);
    for (row, rate) in found_rows.iter().zip(rates) {
        assert_eq!(row["rule"], "dql");
        let low = 2.0 * 1_514.0 * 250e-6 * rate / (1_538.0 * 8.0);
        let after = number(row, "limit_after_bytes");
        assert!((low - 1_514.0..=low + 3_028.0).contains(&after), "{row}");
    }
    assert_eq!((found_rows.len(), of_taut.len()), (3, 3));
    let [first, down, up] = [0, 1, 2].map(|phase| &found_rows[phase]);
    // Growing takes a few intervals. Shrinking waits for the window of 1 s that began before the
    // change and can end with a sample of the old rate, so for at most two of them.
    assert!(number(up, "settling_ms") < 20.0, "{up}");
    assert!(
        (1.0..=2_000.5).contains(&number(down, "settling_ms")),
        "{down}"
    );
    // While the limit is too high, the wire is never idle.
    assert!(number(down, "idle_us") < 2.0 * 123.04, "{down}");
    // At most the old limit minus the new one, until convergence.
    let too_much = number(down, "limit_before_bytes") - number(down, "limit_after_bytes");
    let max = (too_much + 3_028.0) * number(down, "settling_ms") / 1e3;
    let excess = number(down, "excess_byte_s");
    assert!(
        (0.5 * max..=1.1 * max).contains(&excess),
        "{excess} of {max}"
    );
    // During the increase it starves, but not for longer than it grows.
    for row in [first, up] {
        assert!(number(row, "idle_us") <= 1e6, "{row}");
    }
    assert!(
        number(up, "idle_us") / 1e3 <= number(up, "settling_ms") + 1.0,
        "{up}"
    );
    assert_eq!(found.series.len(), 4);
    the_least_limit_follows_too(of_taut, rates, excess);
    // With a tenfold rate, taut takes at most 1.5 times the time of Linux's rule.
    let (linux, taut) = (
        number(up, "settling_ms"),
        number(&of_taut[2], "settling_ms"),
    );
    assert!(taut <= 1.5 * linux, "{taut} against {linux}");
}

/// The run for the optimum has a shorter warm-up, and then the same phases.
#[test]
fn optimum_is_sufficient_at_every_rate() {
    let text = "scenario = \"aperiodic\"\nrules = [\"off\", \"fixed\"]\n\
                rates = [\"10gbit\", \"1gbit\"]\nsample = \"0ns\"\nwarm_up = \"80ms\"\n\
                duration = \"20ms\"\ntraffic = [{ name = \"steady\" }]";
    let found = sweep::run(text, None, 1, &mut |_, _, _| {}).expect("a run");
    show(&found);
    let optimum = row(&found, &[("rule", "optimum")]);
    let carried = number(optimum, "throughput_vs_off");
    assert!((0.99..=1.01).contains(&carried), "{carried}");
    // Not the bytes in flight of an unlimited ring.
    let [limit, unlimited] =
        [optimum, row(&found, &[("rule", "off")])].map(|it| number(it, "in_flight_mean_bytes"));
    assert!(limit < 0.9 * unlimited, "{limit} of {unlimited}");
}

/// `linux_excess` is the excess of the bytes in flight over the law after the decrease of the rate.
fn the_least_limit_follows_too(rows: &[Value], rates: [f64; 3], linux_excess: f64) {
    for (row, rate) in rows.iter().zip(rates) {
        assert_eq!(row["rule"], "taut");
        // One interval, to two packets more.
        let low = 1_514.0 * 250e-6 * rate / (1_538.0 * 8.0);
        let after = number(row, "limit_after_bytes");
        assert!((low - 1_514.0..=low + 3_028.0).contains(&after), "{row}");
        // In both directions, within a second of its final value, the smallest sufficient limit.
        // Linux's rule does not end a window sooner.
        assert!(number(row, "settling_ms") < 1_000.0, "{row}");
        // The device is idle for at most a thousandth of the time.
        assert!(number(row, "idle_us") <= 1e-3 * 2.5e6, "{row}");
    }
    // Four packets, at the lower rate.
    assert!(number(&rows[1], "idle_us") < 4.0 * 123.04, "{}", rows[1]);
    let excess = number(&rows[1], "excess_byte_s");
    assert!(excess < 0.5 * linux_excess, "{excess} of {linux_excess}");
}
