//! The results of a scenario as data, in the same format for every scenario.

use serde::Serialize;
use serde_json::{Value, json};

/// Version of the document format.
pub const DOCUMENT_VERSION: u32 = 2;

/// Returns `fields` after the common first fields of every document.
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

/// The results of one run of a scenario.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Document {
    /// [`DOCUMENT_VERSION`].
    pub version: u32,
    /// Name of the scenario.
    pub scenario: &'static str,
    /// Version of this crate.
    pub taut_version: &'static str,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether the run was interrupted: then only the finished rows are included.
    pub interrupted: bool,
    /// Notes that affect the validity of the rows, such as late timers.
    pub notes: Vec<String>,
    /// All settings of the scenario.
    pub parameters: Value,
    /// One object for each row; all rows have the same keys. Units come last in the names of keys.
    pub rows: Vec<Value>,
    /// Published results and the corresponding results of this run.
    pub figures: Vec<Figure>,
    /// Time series, for drawing.
    #[serde(skip)]
    pub series: Vec<Series>,
    /// Meanings of the columns: (name, meaning).
    #[serde(skip)]
    pub columns: Vec<(&'static str, &'static str)>,
    /// Summary of the rows.
    #[serde(skip)]
    pub summary: Option<Summary>,
}

impl Document {
    /// Returns each row as a JSON object on a line. Each object has the keys `scenario`, `seed`
    /// and `taut_version`.
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

    /// Returns the seed of a row: its own if seeds are swept.
    pub fn seed_of(&self, row: &Value) -> u64 {
        let own = row["sweep"]["seed"].as_str();
        own.and_then(|seed| seed.parse().ok()).unwrap_or(self.seed)
    }
}

/// A summary of many rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Title of the summary.
    pub title: &'static str,
    /// One object for each row; all rows have the same keys.
    pub rows: Vec<Value>,
}

/// A published result and the corresponding result of this run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its identity: experiment, row, column.
    pub id: String,
    /// The published value, or the two ends of its range.
    pub published: Vec<f64>,
    /// The value of this run.
    pub value: f64,
    /// Unit of both.
    pub unit: &'static str,
    /// Constants that were fitted to published results.
    pub constants: Vec<&'static str>,
}

impl Figure {
    /// Creates a comparison of a published value, or the two ends of its range, with a result.
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

    /// Returns `true` if the result is within a tenth of the published value, or of the nearer end
    /// of its range.
    pub fn is_within_tenth(&self) -> bool {
        match self.published[..] {
            [figure] => (self.value - figure).abs() <= 0.1 * figure.abs(),
            [low, high] => (low - 0.1 * low.abs()..=high + 0.1 * high.abs()).contains(&self.value),
            _ => false,
        }
    }
}

/// A time series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The row that it belongs to.
    pub row: String,
    /// The quantity: `limit`, `in flight`, `backlog`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Times in ns, with the value from then on.
    pub points: Vec<(u64, f64)>,
}

impl Series {
    /// Creates a series of bytes.
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
    fn result_near_the_published_value_is_within_tenth() {
        let figure = |published: &[f64], value| Figure {
            id: String::new(),
            published: published.to_vec(),
            value,
            unit: "bytes",
            constants: Vec::new(),
        };
        assert!(figure(&[100.0], 110.0).is_within_tenth());
        assert!(!figure(&[100.0], 110.1).is_within_tenth());
        assert!(figure(&[100.0, 200.0], 150.0).is_within_tenth());
        assert!(figure(&[100.0, 200.0], 90.0).is_within_tenth());
        assert!(!figure(&[100.0, 200.0], 89.9).is_within_tenth());
        assert!(!figure(&[100.0, 200.0], 220.1).is_within_tenth());
        assert!(figure(&[-10.0, -5.0], -10.0).is_within_tenth());
        assert!(figure(&[-10.0, -5.0], -4.5).is_within_tenth());
        assert!(!figure(&[-10.0, -5.0], -4.4).is_within_tenth());
        assert!(!figure(&[], 0.0).is_within_tenth());
    }
}
