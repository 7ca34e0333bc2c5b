//! What a scenario found, as data: one document, the same shape for every scenario.

use serde::Serialize;
use serde_json::{Value, json};

/// The version of the document, for its readers.
pub const DOCUMENT_VERSION: u32 = 1;

/// Returns `fields` behind the fields that every document of a verb begins with.
pub fn envelope(fields: Value) -> Value {
    let mut document = json!({
        "version": DOCUMENT_VERSION,
        "taut_version": env!("CARGO_PKG_VERSION"),
    });
    if let (Value::Object(document), Value::Object(mut fields)) = (&mut document, fields) {
        document.append(&mut fields);
    }
    document
}

/// Everything that one run of a scenario found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Document {
    /// [`DOCUMENT_VERSION`].
    pub version: u32,
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Version of this crate.
    pub taut_version: &'static str,
    /// Seed of everything drawn at random.
    pub seed: u64,
    /// Whether it was interrupted: then only what was finished by then is here.
    pub interrupted: bool,
    /// What must be known of the rows before they are trusted, such as that the machine was late.
    pub notes: Vec<String>,
    /// What was run: the scenario's settings, every one of them.
    pub parameters: Value,
    /// One object for each row; all rows have the same keys. Units last in the keys' names.
    pub rows: Vec<Value>,
    /// Published figures and what was found in their place.
    pub figures: Vec<Figure>,
    /// How things went over time, for drawing.
    #[serde(skip)]
    pub series: Vec<Series>,
    /// What the columns mean, for people: (name, meaning).
    #[serde(skip)]
    pub columns: &'static [(&'static str, &'static str)],
    /// The rows in short, for people.
    #[serde(skip)]
    pub summary: Option<Summary>,
}

impl Document {
    /// Each row as a JSON object on a line, with the source of the row, as the last columns of
    /// comma-separated values have it.
    pub fn json_lines(&self) -> String {
        let line = |row: &Value| {
            let mut row = row.clone();
            row["scenario"] = self.scenario.into();
            row["seed"] = self.seed_of(&row).into();
            row["taut_version"] = self.taut_version.into();
            format!("{row}\n")
        };
        self.rows.iter().map(line).collect()
    }

    /// The seed of a row: its own where seeds are swept.
    pub fn seed_of(&self, row: &Value) -> u64 {
        let own = row["sweep"]["seed"].as_str();
        own.and_then(|seed| seed.parse().ok()).unwrap_or(self.seed)
    }
}

/// Many rows in a few.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Of what.
    pub title: &'static str,
    /// One object for each row; all rows have the same keys.
    pub rows: Vec<Value>,
}

/// One published figure and what was found in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Where it stands: experiment, row, column.
    pub id: String,
    /// The figure, or the two ends of its range.
    pub published: Vec<f64>,
    /// What was found.
    pub value: f64,
    /// Of both.
    pub unit: &'static str,
    /// What was chosen to meet published figures, rather than given with them.
    pub constants: Vec<&'static str>,
}

impl Figure {
    /// A figure, or the two ends of its range, and what was found.
    pub fn new(
        id: impl Into<String>,
        published: &[f64],
        value: f64,
        unit: &'static str,
        constants: &[&'static str],
    ) -> Self {
        Self {
            id: id.into(),
            published: published.to_vec(),
            value,
            unit,
            constants: constants.to_vec(),
        }
    }

    /// Whether what was found is within a tenth of what was published, of the nearer end where that
    /// is a range.
    pub fn is_predicted(&self) -> bool {
        match self.published[..] {
            [figure] => (self.value - figure).abs() <= 0.1 * figure.abs(),
            [low, high] => (low * 0.9..=high * 1.1).contains(&self.value),
            _ => false,
        }
    }
}

/// A value over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Which row it belongs to.
    pub row: String,
    /// What it is: `limit`, `in flight`, `backlog`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Time in ns, and the value from then on.
    pub points: Vec<(u64, f64)>,
}

impl Series {
    /// Bytes over time.
    pub fn bytes(
        row: impl Into<String>,
        name: &'static str,
        points: impl IntoIterator<Item = (u64, f64)>,
    ) -> Self {
        Self {
            row: row.into(),
            name,
            unit: "bytes",
            points: points.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_predicted_within_a_tenth_of_it_or_of_its_range() {
        let figure = |published: &[f64], value| Figure {
            id: String::new(),
            published: published.to_vec(),
            value,
            unit: "bytes",
            constants: Vec::new(),
        };
        assert!(figure(&[100.0], 110.0).is_predicted());
        assert!(!figure(&[100.0], 110.1).is_predicted());
        assert!(figure(&[100.0, 200.0], 150.0).is_predicted());
        assert!(figure(&[100.0, 200.0], 90.0).is_predicted());
        assert!(!figure(&[100.0, 200.0], 89.9).is_predicted());
        assert!(!figure(&[100.0, 200.0], 220.1).is_predicted());
        assert!(!figure(&[], 0.0).is_predicted());
    }
}
