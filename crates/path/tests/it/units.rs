//! Rates, sizes and times are parsed exactly as `tc` does, or rejected with a position.

use crate::support::decimal::Decimal;
use proptest::prelude::*;
use taut_path::units::{
    ParseUnitError, parse_rate_bits_per_s as rate, parse_size_bytes as size, parse_time_ns as time,
};

type Parse = fn(&str) -> Result<u64, ParseUnitError>;

#[test]
fn rates_are_bits_per_second() {
    let cases = [
        ("0", 0),
        ("1000000", 1_000_000),
        ("1bit", 1),
        ("100kbit", 100_000),
        ("1mbit", 1_000_000),
        ("1.5mbit", 1_500_000),
        (".5mbit", 500_000),
        ("1.mbit", 1_000_000),
        ("1Gbit", 1_000_000_000),
        ("400GBIT", 400_000_000_000),
        ("1tbit", 1_000_000_000_000),
        ("1Kibit", 1_024),
        ("1mibit", 1 << 20),
        ("1bps", 8),
        ("1KBps", 8_000),
        ("1MiBps", 8 << 20),
        ("0.001kbit", 1),
        ("18446744073709551615", u64::MAX),
    ];
    for (text, bits) in cases {
        assert_eq!(rate(text), Ok(bits), "{text}");
    }
}

#[test]
fn sizes_are_bytes_and_k_is_1024() {
    let cases = [
        ("1514", 1_514),
        ("40k", 40_960),
        ("40kb", 40_960),
        ("40KiB", 40_960),
        ("0.5k", 512),
        ("3MiB", 3 << 20),
        ("3m", 3 << 20),
        ("1g", 1 << 30),
        ("7b", 7),
        ("1kbit", 128),
        ("1Mbit", 131_072),
        ("1gbit", 1 << 27),
        ("0.0009765625k", 1),
    ];
    for (text, bytes) in cases {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
}

#[test]
fn times_are_nanoseconds() {
    let cases = [
        ("1ns", 1),
        ("250us", 250_000),
        ("250usec", 250_000),
        ("0.5us", 500),
        ("10ms", 10_000_000),
        ("10msecs", 10_000_000),
        ("5s", 5_000_000_000),
        ("1.000000001s", 1_000_000_001),
        ("1.50000000000000000000000000000s", 1_500_000_000),
        ("1000000000000.000000000000ns", 1_000_000_000_000),
    ];
    for (text, ns) in cases {
        assert_eq!(time(text), Ok(ns), "{text}");
    }
}

#[test]
fn syntax_errors_have_a_position() {
    let cases: [(Parse, &str, usize, &str); 21] = [
        (rate, "", 1, "expected a number"),
        (rate, ".", 1, "expected a number"),
        (rate, "mbit", 1, "expected a number"),
        (rate, "-1", 1, "expected a number"),
        (rate, "+1", 1, "expected a number"),
        (rate, " 1mbit", 1, "expected a number"),
        (rate, "1 mbit", 2, "unknown unit"),
        (rate, "1mbit ", 2, "unknown unit"),
        (rate, "1e3", 2, "unknown unit"),
        (rate, "0x10", 2, "unknown unit"),
        (rate, "1.2.3", 4, "unknown unit"),
        (rate, "1,5mbit", 2, "unknown unit"),
        (rate, "10\u{b5}bit", 3, "unknown unit"),
        (rate, "\u{661}mbit", 1, "expected a number"),
        (rate, "0.5", 1, "not a whole number"),
        (rate, "18446744073709551616", 1, "too large"),
        (rate, "20000000tbit", 1, "too large"),
        (rate, "1.0000000000000000001", 21, "more than 18 decimals"),
        (size, "12q", 3, "unknown unit"),
        (time, "10", 3, "a unit is missing"),
        (time, "1.5", 4, "a unit is missing"),
    ];
    for (parse, text, position, what) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!(error.position, position, "{text}");
        let message = error.to_string();
        assert!(message.contains(what), "{text}: {message}");
        assert!(message.contains("allowed: a "), "{text}: {message}");
    }
}

/// Suffixes with their value in the base unit over a divisor, as in tc(8).
fn suffixes() -> impl Strategy<Value = (Parse, String, u64, u32)> {
    let prefix = prop_oneof![
        Just(("", 1u64)),
        (1u32..5).prop_map(|n| (["k", "m", "g", "t"][n as usize - 1], 1_000u64.pow(n))),
        (1u32..5).prop_map(|n| (["ki", "mi", "gi", "ti"][n as usize - 1], 1_024u64.pow(n))),
    ];
    let rates = (prefix, prop_oneof![Just(("bit", 1u64)), Just(("bps", 8))]).prop_map(
        |((prefix, worth), (unit, bits))| {
            (rate as Parse, format!("{prefix}{unit}"), worth * bits, 1)
        },
    );
    let sizes = (
        0u32..4,
        prop_oneof![Just("b"), Just(""), Just("ib"), Just("bit")],
    )
        .prop_map(|(power, tail)| {
            let prefix = ["", "k", "m", "g"][power as usize];
            // Without a prefix there is neither "ib" nor "bit".
            let tail = if power == 0 && tail.starts_with(['i', 'b']) {
                "b"
            } else {
                tail
            };
            let divisor = if tail == "bit" { 8 } else { 1 };
            let worth = 1_024u64.pow(power);
            (size as Parse, format!("{prefix}{tail}"), worth, divisor)
        });
    let times = (0u32..4).prop_map(|power| {
        let name = ["ns", "us", "ms", "s"][power as usize];
        (time as Parse, name.to_string(), 1_000u64.pow(power), 1)
    });
    prop_oneof![rates, sizes, times]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Compares with schoolbook arithmetic on decimal digits, which never overflows.
    #[test]
    fn decimals_are_exact(
        whole in "[0-9]{0,24}",
        decimals in prop_oneof![Just(String::new()), "[0-9]{1,6}0{0,30}", "[0-9]{1,22}"],
        (parse, suffix, worth, divisor) in suffixes(),
        upper: bool,
    ) {
        prop_assume!(!(whole.is_empty() && decimals.is_empty()));
        let suffix = if upper { suffix.to_uppercase() } else { suffix };
        let text = format!("{whole}.{decimals}{suffix}");
        let text = if decimals.is_empty() { text.replace('.', "") } else { text };
        let expected = if decimals.trim_end_matches('0').len() > 18 {
            None
        } else {
            Decimal::new(&whole, &decimals).times(worth).whole_over(divisor)
        };
        prop_assert_eq!(parse(&text).ok(), expected, "{}", text);
    }

    #[test]
    fn written_values_parse_to_the_same(bits: u64, unit in 0u32..4) {
        let names = ["bit", "kbit", "mbit", "gbit"];
        let worth = 1_000u64.pow(unit);
        let text = format!(
            "{}.{:0width$}{}",
            bits / worth,
            bits % worth,
            names[unit as usize],
            width = 3 * unit as usize
        );
        let text = if unit == 0 { format!("{bits}") } else { text };
        prop_assert_eq!(rate(&text), Ok(bits));
        prop_assert_eq!(size(&format!("{bits}b")), Ok(bits));
        prop_assert_eq!(time(&format!("{bits}ns")), Ok(bits));
    }

    #[test]
    fn any_text_parses_or_has_an_error_position(text in "(\\PC|[0-9.kmgtbis ]){0,30}") {
        for parse in [rate as Parse, size, time] {
            if let Err(error) = parse(&text) {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.position));
            }
        }
    }
}
