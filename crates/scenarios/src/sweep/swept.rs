//! Settings with lists of values, and their combinations.

use std::collections::HashSet;
use std::str::FromStr;

use toml::{Table, Value};

use crate::error::ScenarioError;
use crate::registry::find;

/// A setting, or `seed`, with its values, in the syntax `KEY=A,B,...`. A value with a comma is put
/// into quotes, and a list into brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The setting.
    pub key: String,
    /// Its values, in the syntax of [`with`](crate::setting::with).
    pub values: Vec<String>,
}

impl FromStr for Swept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text
            .split_once('=')
            .ok_or("there is no \"=\"; allowed: KEY=A,B,...")?;
        let values = split(values);
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err("a key or a value is empty; allowed: KEY=A,B,...".to_owned());
        }
        Ok(Self {
            key: key.to_owned(),
            values,
        })
    }
}

/// Splits at each comma outside of brackets and quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_i32, false);
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            ',' if !quoted && depth <= 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts
}

/// A combination: each key with its value.
pub(super) type Point<'a> = Vec<(&'a str, &'a str)>;

/// Rejects duplicates: a duplicate run would be in the table twice, and count twice in every mean.
pub(super) fn reject_duplicates(sweeps: &[Swept]) -> Result<(), String> {
    let mut keys = HashSet::new();
    for Swept { key, values } in sweeps {
        if !keys.insert(key) {
            return Err(format!(
                "{key} is swept twice; put all its values into one list"
            ));
        }
        let mut seen = HashSet::new();
        if let Some(value) = values.iter().find(|value| !seen.insert(*value)) {
            return Err(format!("{key} has {value} twice; list each value once"));
        }
    }
    Ok(())
}

/// Returns every combination; the values of the last key vary fastest.
pub(super) fn grid(sweeps: &[Swept]) -> Vec<Point<'_>> {
    let mut points = vec![Point::new()];
    for sweep in sweeps {
        let mut longer = Vec::new();
        for point in &points {
            for value in &sweep.values {
                longer.push([point.clone(), vec![(&*sweep.key, &**value)]].concat());
            }
        }
        points = longer;
    }
    points
}

/// The key of the table with swept settings in a scenario file.
pub(crate) const SWEEP: &str = "sweep";

/// Splits a scenario file into a file without a sweep, and its swept settings. A text without a
/// sweep has that of the scenario's own file.
pub(super) fn of_file(text: &str) -> Result<(String, Vec<Swept>), ScenarioError> {
    let mut table: Table = toml::from_str(text)?;
    let mut defaults: Table = toml::from_str(find(text)?.file)?;
    let Some(sweep) = table.remove(SWEEP).or_else(|| defaults.remove(SWEEP)) else {
        return Ok((text.to_owned(), Vec::new()));
    };
    table.insert(SWEEP.to_owned(), Value::Table(Table::new()));
    let of_key = |(key, values): (&String, &Value)| {
        let values = values.as_array().ok_or_else(|| {
            ScenarioError::Setting(format!(
                "{SWEEP}.{key} is {values}; allowed: a list of values"
            ))
        })?;
        Ok(Swept {
            key: key.clone(),
            values: values.iter().map(as_written).collect(),
        })
    };
    let swept = sweep.as_table().into_iter().flatten().map(of_key);
    Ok((
        table.to_string(),
        swept.collect::<Result<_, ScenarioError>>()?,
    ))
}

/// Converts a value to the syntax of [`with`](crate::setting::with): a text needs no quotes.
fn as_written(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_outside_brackets_and_quotes() {
        assert_eq!(split("1,20us,x"), ["1", "20us", "x"]);
        assert_eq!(split("[1,2],[3]"), ["[1,2]", "[3]"]);
        assert_eq!(split("\"a,b\",c"), ["\"a,b\"", "c"]);
        assert_eq!(split("[[1,2],3]"), ["[[1,2],3]"]);
        assert!("ring".parse::<Swept>().is_err());
        assert!("=1".parse::<Swept>().is_err());
        assert!("ring=1,,2".parse::<Swept>().is_err());
    }

    #[test]
    fn grid_has_every_combination_once() {
        let sweeps: Vec<Swept> = ["a=1,2", "b=x,y,z"].map(|it| it.parse().unwrap()).into();
        let points = grid(&sweeps);
        assert_eq!(points.len(), 6);
        assert_eq!(points[0], [("a", "1"), ("b", "x")]);
        assert_eq!(points[1], [("a", "1"), ("b", "y")]);
        assert_eq!(points[5], [("a", "2"), ("b", "z")]);
        assert_eq!(grid(&[]), [Point::new()]);
    }

    #[test]
    fn file_can_sweep_any_values() {
        let name = "scenario = \"rate-change\"\n";
        let sweep = "[sweep]\nring = [64, 128]\nrates = [\"1gbit\", [\"1mbit\"]]";
        let (file, swept) = of_file(&format!("{name}{sweep}")).unwrap();
        assert_eq!(file, format!("{name}\n[sweep]\n"));
        let values: Vec<_> = swept.iter().map(|it| it.values.join(" ")).collect();
        assert_eq!(values, ["1gbit [\"1mbit\"]", "64 128"], "by key");
        assert!(of_file(&format!("{name}[sweep]\nring = 64")).is_err());
        assert_eq!(of_file(name).unwrap(), (name.to_owned(), Vec::new()));
    }

    #[test]
    fn missing_sweep_is_that_of_the_scenario() {
        let (file, swept) = of_file("scenario = \"late-segmentation\"").unwrap();
        assert_eq!(swept[0].key, "rate");
        assert_eq!(of_file(&file).unwrap().1, [], "the sweep was removed");
    }
}
