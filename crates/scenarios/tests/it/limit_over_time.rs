//! E5: the limit grows fast, shrinks slowly, and is exceeded by at most one object.

use crate::support::{number, row, run_with, show};
use taut_scenarios::registry;

#[test]
fn limit_grows_fast_and_shrinks_slowly() {
    let found = run_with("limit-over-time", &[("duration", "\"2500ms\"")]);
    show(&found);
    for row in &found.rows {
        let object = number(row, "largest_object_bytes");
        assert!(number(row, "overshoot_bytes") <= object, "{row}");
        if row["rule"] == "dql" {
            // A decrease needs a window of 1 s, and 2.5 s have at most two.
            assert!(number(row, "decreases") <= 2.0, "{row}");
        }
    }
    let of_rule = |traffic, rule| row(&found, &[("traffic", traffic), ("rule", rule)]);
    let of = |traffic| of_rule(traffic, "dql");
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
        // The smallest sufficient limit is one interval; the rule taut is never far above.
        let smallest = of_rule(traffic, "taut");
        let limit = number(smallest, "limit_bytes");
        assert!(
            (low / 2.0 - counted..=1.25 * low / 2.0 + counted).contains(&limit),
            "{limit}"
        );
        // A limit of 74.5 packets: the part of a packet that the device sends in an interval is not
        // visible.
        assert!(number(smallest, "utilisation") >= 0.998, "{smallest}");
        // "Can more than double."
        assert!(
            number(of(traffic), "largest_growth_factor") > 2.0,
            "{traffic}"
        );
    }
    // Each step of the ramp-up at least about doubles: log2 of the final packets, with a margin.
    let ramp = of("minimal, first ramp-up");
    assert!(number(ramp, "increases") <= 12.0, "{ramp}");
    assert!(number(ramp, "to_90_percent_us") <= 12.0 * 50.0, "{ramp}");
    // Noise never keeps the queue busy for a whole interval, so the limit never exceeds a burst.
    let idle = of("idle with noise");
    assert!(number(idle, "limit_bytes") <= 2.0 * 2.0 * 1_514.0, "{idle}");
    assert_eq!((found.rows.len(), found.series.len()), (12, 24));
}

#[test]
fn tcp_stream_fills_the_link_under_limit() {
    let short = [("duration", "\"300ms\"")];
    let found = run_with("limit-over-time", &short);
    show(&found);
    // One GSO packet takes 55 us, more than the interval. The law's 2RT is two of them, and two
    // more. The smallest sufficient limit is one, and one more.
    let cases = ["auto", "65160"].map(|of| [(of, "dql", 2.0), (of, "taut", 1.0)]);
    for (gso_packets, rule, objects) in cases.into_iter().flatten() {
        let name = format!("one TCP stream, GSO packets {gso_packets}");
        let row = row(&found, &[("traffic", &name), ("rule", rule)]);
        // 45 segments with one set of headers.
        let object = 66.0 + 45.0 * 1_448.0;
        assert_eq!(number(row, "largest_object_bytes"), object);
        let limit = number(row, "limit_bytes");
        let law = objects * object..=2.0 * objects * object;
        assert!(law.contains(&limit), "{row}");
        // Slow start takes less than a hundredth of the time, and no frame is sent twice.
        let utilisation = number(row, "utilisation");
        assert!((0.99..=1.0).contains(&utilisation), "{row}");
        let series = found
            .series
            .iter()
            .filter(|series| series.row == format!("{name}: {rule}"));
        let highest = |name| {
            let series = series.clone().find(|series| series.name == name);
            let points = series.expect("drawn").points.iter();
            points.map(|point| point.1).fold(0.0, f64::max)
        };
        // Bytes in flight exceed the current limit by at most one object.
        let max = highest("in flight");
        assert!(max <= highest("limit") + object, "{max}");
        assert!(max >= objects * object, "{max}");
        assert!(number(row, "overshoot_bytes") <= object, "{row}");
    }
}

#[test]
fn invalid_gso_size_error_has_the_name() {
    for bad in ["0", "65537", "automatic", ""] {
        let traffic = format!("[{{ name = \"mine\", tcp = \"{bad}\" }}]");
        let text = format!("scenario = \"limit-over-time\"\ntraffic = {traffic}");
        let error = registry::check(&text).map(drop).expect_err(bad).to_string();
        assert!(error.starts_with("traffic \"mine\": tcp"), "{error}");
    }
}
