//! Names and values of settings as text.

use taut_path::tunables::{Setting, Tunable, TunableError};
use taut_path::units;

const NS_PER_MS: u64 = 1_000_000;

/// Parses `NAME VALUE NAME VALUE ..`.
///
/// # Errors
/// A sentence for the user, with the allowed values.
pub fn parse(words: &[String]) -> Result<Vec<Setting>, String> {
    let mut settings: Vec<Setting> = Vec::new();
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} has no value", pair.concat()));
        };
        let setting = setting(name, value)?;
        if settings.iter().any(|it| it.tunable == setting.tunable) {
            return Err(format!("duplicate {name}"));
        }
        settings.push(setting);
    }
    Ok(settings)
}

fn setting(name: &str, value: &str) -> Result<Setting, String> {
    let tunable = Tunable::by_name(name).map_err(|_| {
        format!("setting is {name:?}; allowed: limit_max, limit_min, limit, hold_time, stall_thrs")
    })?;
    let explained = |error: String| format!("{name} {value}: {error}");
    let number = match (tunable, value) {
        (Tunable::Limit | Tunable::LimitMin | Tunable::LimitMax, "max") => max_bytes().into(),
        (Tunable::StallThresholdMs, "off") => 0,
        (Tunable::Limit | Tunable::LimitMin | Tunable::LimitMax, _) => {
            units::parse_size_bytes(value).map_err(|error| explained(error.to_string()))?
        }
        (Tunable::HoldTimeMs | Tunable::StallThresholdMs, _) => {
            let ns = units::parse_time_ns(value).map_err(|error| explained(error.to_string()))?;
            if ns % NS_PER_MS != 0 {
                return Err(explained("allowed: whole milliseconds".to_owned()));
            }
            ns / NS_PER_MS
        }
        _ => return Err(TunableError::ReadOnly(tunable).to_string()),
    };
    let setting = tunable.parse(&number.to_string());
    let setting = setting.map_err(|error| explained(error.to_string()))?;
    match setting.value {
        value if is_bytes(tunable) && value > max_bytes() => {
            Err(explained(TunableError::BadValue(tunable).to_string()))
        }
        _ => Ok(setting),
    }
}

/// Maximum value that the kernel accepts.
fn max_bytes() -> u32 {
    taut_linux::observe::LIMIT_MAX_UNSET as u32
}

fn is_bytes(tunable: Tunable) -> bool {
    matches!(
        tunable,
        Tunable::Limit | Tunable::LimitMin | Tunable::LimitMax
    )
}

/// Formats a value as [`parse`] reads it.
pub fn to_text(tunable: Tunable, value: u64) -> String {
    match (tunable, value) {
        (_, value) if is_bytes(tunable) && value >= max_bytes().into() => "max".to_owned(),
        (Tunable::StallThresholdMs, 0) => "off".to_owned(),
        (Tunable::HoldTimeMs | Tunable::StallThresholdMs, ms) => format!("{ms}ms"),
        (_, bytes) => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn setting(tunable: Tunable, value: u32) -> Setting {
        Setting { tunable, value }
    }

    fn parsed(text: &str) -> Result<Vec<Setting>, String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn names_take_sizes_and_times() {
        assert_eq!(
            parsed("limit_max 40k hold_time 0.5s stall_thrs off"),
            Ok(vec![
                setting(Tunable::LimitMax, 40_960),
                setting(Tunable::HoldTimeMs, 500),
                setting(Tunable::StallThresholdMs, 0)
            ])
        );
        for (text, setting) in [
            ("limit_max max", setting(Tunable::LimitMax, 1_879_048_192)),
            ("limit_min max", setting(Tunable::LimitMin, 1_879_048_192)),
            ("limit max", setting(Tunable::Limit, 1_879_048_192)),
        ] {
            assert_eq!(parsed(text), Ok(vec![setting]));
        }
    }

    #[test]
    fn errors_name_what_is_allowed() {
        for (text, part) in [
            ("limit", "limit has no value"),
            ("limit_max 1 limit_max 2", "duplicate limit_max"),
            ("inflight 3", "inflight can only be read"),
            ("what 3", "allowed: limit_max, limit_min"),
            ("limit_max 2g", "0 to 1879048192"),
            ("limit_min most", "a size such as"),
            ("hold_time 500", "a unit is missing"),
            ("hold_time 1us", "whole milliseconds"),
            ("hold_time 9999999s", "0 to 4294967295 ms"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn text_of_a_value_parses_to_it(value in 0u32..=1_879_048_192, kind in 0usize..5) {
            use Tunable::{HoldTimeMs, Limit, LimitMax, LimitMin, StallThresholdMs};
            let tunable = [Limit, LimitMin, LimitMax, HoldTimeMs, StallThresholdMs][kind];
            let text = format!("{} {}", tunable.name(), to_text(tunable, value.into()));
            let read = parsed(&text).unwrap();
            prop_assert_eq!((read[0].tunable, read[0].value), (tunable, value));
        }

        #[test]
        fn any_words_are_parsed_without_panic(words in prop::collection::vec("\\PC{0,12}", 0..5)) {
            let _ = parse(&words);
        }
    }
}
