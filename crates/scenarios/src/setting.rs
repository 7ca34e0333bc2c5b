//! Changes of single settings in a file, as a sweep does.

use toml::{Table, Value};

use crate::error::ScenarioError;
use crate::registry::{check, find};
use crate::sweep::swept::SWEEP;

/// Returns the scenario file `text` with changed settings: (key, value). A value has TOML syntax,
/// except that a text needs no quotes and a list of one value no brackets.
///
/// # Errors
/// If the file cannot be parsed, has no such key, or the value is invalid.
pub fn with(text: &str, changes: &[(&str, &str)]) -> Result<String, ScenarioError> {
    let entry = find(text)?;
    let defaults: Table = toml::from_str(entry.file)?;
    let mut changed: Table = toml::from_str(text)?;
    for &(key, value) in changes {
        let is_setting = |key: &str| !["scenario", SWEEP].contains(&key);
        let Some(like) = defaults.get(key).filter(|_| is_setting(key)) else {
            let keys = defaults.keys().map(String::as_str);
            let keys: Vec<&str> = keys.filter(|key| is_setting(key)).collect();
            let (name, keys) = (entry.name, keys.join(", "));
            let message = format!("{name} has no setting {key:?}; there are: {keys}, seed");
            return Err(ScenarioError::Setting(message));
        };
        let invalid = |why: &str| ScenarioError::Setting(format!("{key} is {value:?}: {why}"));
        let value = value_like(Some(like), value).map_err(|why| invalid(&why))?;
        // The error contains the key instead of a line, because the user did not write this file.
        let name = Value::from(entry.name);
        let alone = Table::from_iter([
            ("scenario".to_owned(), name),
            (key.to_owned(), value.clone()),
        ]);
        if let Err(ScenarioError::Syntax(why)) = check(&alone.to_string()) {
            return Err(invalid(why.trim_end().lines().last().unwrap_or_default()));
        }
        changed.insert(key.to_owned(), value);
        set_instead_of_sweeping(&mut changed, key, &defaults);
    }
    Ok(changed.to_string())
}

/// Replaces the values of a swept setting.
fn set_instead_of_sweeping(file: &mut Table, key: &str, defaults: &Table) {
    let swept = file.remove(SWEEP).or_else(|| defaults.get(SWEEP).cloned());
    if let Some(Value::Table(mut swept)) = swept {
        swept.remove(key);
        file.insert(SWEEP.to_owned(), Value::Table(swept));
    }
}

/// Parses `text` as a value of the same type as `like`; without a text there, as TOML.
fn value_like(like: Option<&Value>, text: &str) -> Result<Value, String> {
    let is_written = text.starts_with(['[', '"', '\'']);
    match like {
        Some(Value::String(_)) | None if !is_written => Ok(Value::String(text.to_owned())),
        Some(Value::Array(values)) if !text.starts_with('[') => {
            Ok(Value::Array(vec![value_like(values.first(), text)?]))
        }
        _ => {
            let table: Table = toml::from_str(&format!("value = {text}"))
                .map_err(|error| error.message().to_owned())?;
            let only = table.get("value").filter(|_| table.len() == 1);
            only.cloned().ok_or_else(|| "not a single value".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "scenario = \"small-queues\"\nring = 64";

    fn changed(key: &str, value: &str) -> Value {
        let text = with(FILE, &[(key, value)]).expect("a setting");
        let table: Table = toml::from_str(&text).expect("TOML");
        assert_eq!(table["scenario"].as_str(), Some("small-queues"));
        table[key].clone()
    }

    #[test]
    fn value_has_the_type_of_the_setting() {
        assert_eq!(changed("ring", "128"), Value::Integer(128));
        assert_eq!(changed("coalesce", "50us"), Value::String("50us".into()));
        assert_eq!(
            changed("coalesce", "\"50us\""),
            Value::String("50us".into())
        );
        let one = Value::Array(vec![Value::String("1gbit".into())]);
        assert_eq!(changed("rates", "1gbit"), one);
        assert_eq!(changed("rates", "[\"1gbit\"]"), one);
        assert_eq!(changed("rates", "[]"), Value::Array(Vec::new()));
    }

    #[test]
    fn unknown_setting_error_lists_the_settings() {
        for (key, value, message) in [
            ("rnig", "64", "no setting \"rnig\"; there are"),
            ("scenario", "x", "no setting \"scenario\""),
            ("ring", "many", "ring is \"many\""),
            ("ring", "1\nrates = []", "ring is \"1"),
            (
                "ring",
                "-1",
                "ring is \"-1\": invalid value: integer `-1`, expected u32",
            ),
            ("coalesce", "soon", "coalesce is \"soon\": "),
        ] {
            let error = with(FILE, &[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(message), "{key}: {error}");
        }
    }
}
