//! Completion trace files: accepted ones, error messages, and no panics.

use proptest::prelude::*;
use serde_json::json;
use taut_path::AnyLimit;
use taut_scenarios::pattern::read::read;
use taut_sim::completion_trace::{Burst, CompletionTrace, Detail, Interval, observe};

const HEADER: &str = r#"{"id": "x", "rate_bytes_per_us": 125.0, "end_ns": 300}"#;

fn pattern(text: &str) -> Result<CompletionTrace, String> {
    let found = read(text.as_bytes(), "file name");
    found
        .map(|it| it.pattern)
        .map_err(|error| error.to_string())
}

#[test]
fn complete_file_is_parsed() {
    let text = concat!(
        r#"{"id": "p", "rate_bytes_per_us": 1.0, "rates": [[0, 125.0], [200, 12.5]], "#,
        r#""sizes": [66, 1514], "budget": 4, "poll_ns": 7, "#,
        r#""burst": {"period_ns": 50, "objects": 3, "x": 1}, "warm_ns": 100, "end_ns": 300, "#,
        r#""utilisation": 0.99, "colour": "red"}"#,
        "\n100 0\r\n\n  200\t17\n"
    );
    let found = read(text.as_bytes(), "file name").expect("a pattern");
    let unknown = |key| format!("line 1: unknown key {key:?} is ignored");
    assert_eq!(found.warnings, ["colour", "burst.x"].map(unknown));
    let pattern = found.pattern;
    assert_eq!(pattern.id, "p");
    assert_eq!(pattern.rates, [(0, 125_000_000), (200, 12_500_000)]);
    assert_eq!(
        (pattern.sizes, pattern.budget, pattern.poll_ns),
        (vec![66, 1_514], 4, 7)
    );
    let burst = Burst {
        period_ns: 50,
        objects: 3,
    };
    assert_eq!(pattern.bursts, [burst]);
    assert_eq!((pattern.warm_ns, pattern.end_ns), (100, 300));
    assert_eq!(pattern.utilisation, 0.99);
    let intervals: Vec<Interval> = pattern.queues[0].iter().collect();
    let interval = |gap_ns, delay_ns| Interval { gap_ns, delay_ns };
    assert_eq!(intervals, [interval(100, 0), interval(200, 17)]);
}

#[test]
fn missing_keys_have_defaults() {
    let text = "{\"rate_bytes_per_us\": 125, \"end_ns\": 9, \"burst\": null}\n9 0";
    let pattern = pattern(text).expect("a pattern");
    assert_eq!(pattern.id, "file name");
    assert_eq!(
        (pattern.sizes, pattern.budget, pattern.poll_ns),
        (vec![1_514], 0, 3_000)
    );
    assert_eq!((pattern.bursts.len(), pattern.warm_ns), (0, 0));
    assert_eq!(pattern.utilisation, 0.999);
}

#[test]
fn byte_order_mark_is_ignored() {
    let found = pattern(&format!("\u{feff}{HEADER}\r\n300 0\r\n")).expect("a pattern");
    assert_eq!(found.end_ns, 300);
}

#[test]
fn invalid_line_error_has_the_allowed_values() {
    let header = |keys: &str| format!("{{{keys}}}\n300 0\n");
    let line = |line: &str| format!("{HEADER}\n100 0\n{line}\n300 0\n");
    let cases = [
        (
            String::new(),
            "line 1: the first line must be a JSON object",
        ),
        (
            "100 0\n".to_owned(),
            "line 1: the first line must be a JSON object",
        ),
        (
            header(r#""rate_bytes_per_us": 125, "end_ns": 300, "end_ns": 5"#),
            "line 1: duplicate key end_ns",
        ),
        (
            "[1]\n".to_owned(),
            "line 1: the first line must be a JSON object",
        ),
        (
            header(""),
            "line 1: end_ns is missing; allowed: 1 to 86400000000000",
        ),
        (
            header(r#""end_ns": "soon""#),
            "line 1: end_ns: invalid type: string \"soon\", expected u64",
        ),
        (
            header(r#""end_ns": 300, "rate_bytes_per_us": 1, "burst": {"objects": 3}"#),
            "line 1: burst.period_ns is missing; allowed: 1 to",
        ),
        (
            header(concat!(
                r#""end_ns": 300, "rate_bytes_per_us": 1, "#,
                r#""burst": {"period_ns": 5, "objects": 4294967296}"#,
            )),
            "line 1: burst.objects is 4294967296; allowed: 1 to 1048576",
        ),
        (
            header(r#""end_ns": 80000000000000, "rate_bytes_per_us": 50000, "sizes": [60]"#),
            "line 1: the link can send 66666666666666 objects until end_ns; \
             allowed: at most 10000000000",
        ),
        (
            header(concat!(
                r#""end_ns": 80000000000000, "sizes": [60, 140], "#,
                r#""rates": [[0, 1], [70000000000000, 50000]]"#,
            )),
            "line 1: the link can send 5000700000000 objects",
        ),
        (
            header(concat!(
                r#""end_ns": 80000000000000, "rate_bytes_per_us": 1, "#,
                r#""burst": {"period_ns": 1, "objects": 1}"#,
            )),
            "line 1: burst.period_ns makes 80000000000000 bursts until end_ns; allowed",
        ),
        (
            header(r#""end_ns": 300"#),
            "line 1: rate_bytes_per_us and rates are missing; allowed: 0.000001 to 50000",
        ),
        (
            header(r#""end_ns": 0, "rate_bytes_per_us": 1"#),
            "line 1: end_ns is 0; allowed: 1 to 86400000000000",
        ),
        (
            header(r#""end_ns": 300, "warm_ns": 300, "rate_bytes_per_us": 1"#),
            "line 1: warm_ns is 300; allowed: 0 to 299",
        ),
        (
            header(r#""end_ns": 300, "rate_bytes_per_us": 0"#),
            "line 1: the rate at 0 ns is 0 bytes/us; allowed: 0.000001 to 50000",
        ),
        (
            header(r#""end_ns": 300, "rates": [[0, 1], [5, -1]]"#),
            "line 1: the rate at 5 ns is -1 bytes/us",
        ),
        (
            header(r#""end_ns": 300, "rates": [[1, 1]]"#),
            "line 1: the first time of rates, in ns, is 1; allowed: 0 to 0",
        ),
        (
            header(r#""end_ns": 300, "rates": []"#),
            "line 1: rates has 0 values; allowed: 1 or more",
        ),
        (
            header(r#""end_ns": 300, "rates": [[0, 1], [9, 1], [9, 2]]"#),
            "line 1: a time of rates is 9 ns, after 9 ns; allowed: rising times",
        ),
        (
            header(r#""end_ns": 300, "rate_bytes_per_us": 1, "sizes": []"#),
            "line 1: sizes has 0 values; allowed: 1 to",
        ),
        (
            header(r#""end_ns": 300, "rate_bytes_per_us": 1, "sizes": [1514, 0]"#),
            "line 1: sizes is 0; allowed: 1 to 16777216",
        ),
        (
            header(r#""end_ns": 300, "rate_bytes_per_us": 1, "budget": -1"#),
            "line 1: budget: invalid value: integer `-1`",
        ),
        (
            header(
                r#""end_ns": 300, "rate_bytes_per_us": 1, "burst": {"period_ns": 0, "objects": 1}"#,
            ),
            "line 1: burst.period_ns is 0; allowed: 1 to",
        ),
        (
            header(r#""end_ns": 300, "rate_bytes_per_us": 1, "utilisation": 1.5"#),
            "line 1: utilisation is 1.5; allowed: above 0, at most 1",
        ),
        (
            line("0 0"),
            "line 3: gap_ns is 0; allowed: 1 to 86400000000000",
        ),
        (
            line("7"),
            "line 3: has 1 numbers; allowed: two, gap_ns and delay_ns",
        ),
        (line("7 0 1"), "line 3: has 3 numbers"),
        (
            line("-7 0"),
            "line 3: gap_ns is \"-7\"; allowed: a whole number of ns",
        ),
        (line("+7 0"), "line 3: gap_ns is \"+7\""),
        (line("7 1.5"), "line 3: delay_ns is \"1.5\""),
        (
            line("99999999999999999999 0"),
            "line 3: gap_ns is \"99999999999999999999\"",
        ),
        (line(&"1".repeat(70)), "line 3: is longer than 63 bytes"),
        (
            format!("{HEADER}\n100 0\n"),
            "line 2: the file ends here, with 1 interrupts of 100 ns together; they must reach \
             end_ns, 300 ns",
        ),
    ];
    for (text, message) in cases {
        let error = pattern(&text).expect_err(message);
        assert!(error.starts_with(message), "{error}\n{message}");
    }
    let error = read(&b"{\"end_ns\": 3}\n\xff 1\n"[..], "").expect_err("no rate");
    assert!(error.to_string().contains("are missing"), "{error}");
    let text = [HEADER.as_bytes(), b"\n\xff 1\n"].concat();
    let error = read(&text[..], "").expect_err("no text").to_string();
    assert_eq!(error, "line 2: is not UTF-8 text");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes[..], "");
        let _ = read(&[HEADER.as_bytes(), b"\n", &bytes].concat()[..], "");
    }

    /// Any accepted file runs to its end, and its counts are consistent.
    #[test]
    fn accepted_files_run(
        rate in 0.001f64..200.0,
        later in 0.001f64..200.0,
        sizes in proptest::collection::vec(60u32..70_000, 1..4),
        burst in proptest::option::of((1_000u64..1_000_000, 1u64..100)),
        (budget, poll_ns) in (0u32..5, 1u64..100_000),
        gaps in proptest::collection::vec((1u64..300_000, 0u64..200_000), 1..9),
        limit in proptest::sample::select(vec!["dql", "taut", "3000"]),
    ) {
        let burst = burst.map(|(period_ns, objects)| {
            json!({"period_ns": period_ns, "objects": objects})
        });
        let header = json!({
            "rates": [[0, rate], [500_000, later]], "sizes": sizes, "burst": burst,
            "budget": budget, "poll_ns": poll_ns, "warm_ns": 1_000, "end_ns": 1_000_000,
        });
        let lines: String = gaps.iter().map(|(gap, delay)| format!("{gap} {delay}\n")).collect();
        let pattern = pattern(&format!("{header}\n{lines}1000000 0\n"));
        let pattern = pattern.map_err(TestCaseError::fail)?;
        let limit: AnyLimit = limit.parse().map_err(|_| TestCaseError::fail("no such limit"))?;
        let seen = observe(&pattern, limit, Detail::FULL);
        let seen = seen.map_err(|it| TestCaseError::fail(it.to_string()))?;
        prop_assert!((0.0..=1.0).contains(&seen.utilisation));
        prop_assert!(seen.dry_ns <= 999_000);
        prop_assert_eq!(seen.sent_packets, seen.freed_packets + seen.in_ring_packets);
    }

    /// A valid file with random deletions and insertions.
    #[test]
    fn no_mutated_file_panics(
        from in 0usize..200,
        cut in 0usize..12,
        put in "[-0-9a-z\"{}\\[\\]:., \\n]{0,6}",
    ) {
        let text = concat!(
            r#"{"rates": [[0, 125.0], [9, 1.5]], "sizes": [66], "#,
            r#""burst": {"period_ns": 5, "objects": 3}, "end_ns": 300}"#,
            "\n100 0\n200 17\n",
        );
        let from = from % text.len();
        let to = (from + cut).min(text.len());
        let _ = pattern(&format!("{}{put}{}", &text[..from], &text[to..]));
    }
}
