//! Formatting of numbers.

use serde_json::{Number, Value};

/// Formats a value of a row.
pub fn readable(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number_text(number),
        Value::String(text) => text.clone(),
        // Empty; non-empty ones are flattened.
        Value::Array(_) | Value::Object(_) => "-".to_owned(),
    }
}

fn number_text(number: &Number) -> String {
    if number.is_f64() {
        float(number.as_f64().unwrap_or_default())
    } else {
        grouped(&number.to_string())
    }
}

/// Formats a number with four significant digits, or with all digits of the integer part.
pub fn float(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let whole_digits = value.abs().log10().floor() as i32 + 1;
    let decimals = (4 - whole_digits).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        grouped(text.trim_end_matches('0').trim_end_matches('.'))
    } else {
        grouped(&text)
    }
}

/// Inserts commas between the thousands of the integer part.
fn grouped(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// Formats a number as briefly as possible, for an axis: 1500000 is 1.5M.
pub fn short(value: f64) -> String {
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (value, suffix) = in_scale(value, &scales, "");
    // Rounded, because multiples of a step are inexact.
    format!("{}{suffix}", (value * 1e6).round() / 1e6)
}

/// Divides `value` by the first of the `scales` that it reaches; without one, it is in `unit`.
fn in_scale<'u>(value: f64, scales: &[(f64, &'u str)], unit: &'u str) -> (f64, &'u str) {
    let reached = scales.iter().find(|(scale, _)| value.abs() >= *scale);
    let (scale, unit) = *reached.unwrap_or(&(1.0, unit));
    (value / scale, unit)
}

/// Formats a number with three digits and a power of a thousand: `12.1K`.
pub fn scaled(value: f64) -> String {
    let steps = [(1e9, "G"), (1e6, "M"), (1e3, "K")];
    let (value, letter) = in_scale(value, &steps, "");
    let digits = match value {
        _ if letter.is_empty() || value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{letter}")
}

const TIMES: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];

/// Formats a time in ns with its unit.
pub fn time(ns: f64) -> String {
    let (value, unit) = in_scale(ns, &TIMES, "ns");
    format!("{} {unit}", (value * 1e6).round() / 1e6)
}

/// Formats a time with three significant digits and its unit: `16.2us`, `1s`.
pub fn short_time(ns: u64) -> String {
    let (value, unit) = in_scale(ns as f64, &TIMES, "ns");
    let decimals = match value {
        _ if value >= 99.95 => 0,
        _ if value >= 9.995 => 1,
        _ => 2,
    };
    let digits = format!("{value:.decimals$}");
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => &digits,
    };
    format!("{digits}{unit}")
}

/// Returns the rate per second of `count` in `length_ns`.
pub fn per_second(count: u64, length_ns: u64) -> f64 {
    count as f64 * 1e9 / length_ns.max(1) as f64
}

/// Rounds to one decimal, which is the accuracy of a run of seconds.
pub fn one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (value, text) in [
            (json!(0), "0"),
            (json!(999), "999"),
            (json!(1000), "1,000"),
            (json!(-123_456), "-123,456"),
            (json!(u64::MAX), "18,446,744,073,709,551,615"),
            (json!(1234567.891), "1,234,568"),
            (json!(-1000.25), "-1,000"),
            (json!(39.8), "39.8"),
            (json!(3.261_94), "3.262"),
            (json!(0.000_123_456), "0.0001235"),
            (json!(0.0), "0"),
            (json!(null), "-"),
            (json!(true), "yes"),
            (json!("a b"), "a b"),
        ] {
            assert_eq!(readable(&value), text, "{value}");
        }
    }

    #[test]
    fn ticks_are_short_with_a_scale() {
        assert_eq!(
            [0.0, 0.25, 500.0, 1e3, 1.5e6, 2e9].map(short),
            ["0", "0.25", "500", "1k", "1.5M", "2G"]
        );
        assert_eq!(short(0.1 + 0.2), "0.3");
        assert_eq!(
            [20.0, 5e5, 2e7, 1e9].map(time),
            ["20 ns", "500 us", "20 ms", "1 s"]
        );
    }

    #[test]
    fn short_times_have_three_digits_and_a_unit() {
        for (ns, text) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1us"),
            (16_160, "16.2us"),
            (1_234_567, "1.23ms"),
            (100_000, "100us"),
            (1_000_000_000, "1s"),
            (15_032_385_536, "15s"),
            (999_960, "1000us"),
        ] {
            assert_eq!(short_time(ns), text, "{ns}");
        }
    }
}
