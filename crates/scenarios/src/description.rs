//! Descriptions of the scenarios and of their columns, from `files/about.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::schema::file;
use taut_report::document::Figure;

/// The description of a scenario, or of one kind of its rows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Description {
    /// One line.
    pub about: String,
    /// Whether there are published results.
    pub has_figures: bool,
    /// A remark on the comparison with them, such as the reason for a deviation; can be empty.
    pub remark: String,
    columns: Vec<(String, String)>,
    published: Vec<Published>,
}

/// Published results with the same unit and the same fitted constants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    unit: String,
    /// Constants that were fitted to them.
    #[serde(default)]
    fitted: Vec<String>,
    /// Each value, or the two ends of its range, by the id of the figure.
    values: HashMap<String, Vec<f64>>,
}

static ALL: LazyLock<HashMap<String, Description>> =
    LazyLock::new(|| toml::from_str(file!("about")).expect("a test reads the file"));

impl Description {
    /// Returns the description of a scenario or of a kind of rows.
    ///
    /// # Panics
    /// If the file has none.
    pub fn of(name: &str) -> &'static Self {
        &ALL[name]
    }

    /// Compares `value` with the published result of this id, if there is one.
    pub(crate) fn figure(&'static self, id: String, value: f64) -> Option<Figure> {
        let found = |it: &'static Published| Some((it, it.values.get(&id)?));
        let (group, published) = self.published.iter().find_map(found)?;
        let fitted: Vec<&str> = group.fitted.iter().map(String::as_str).collect();
        Some(Figure::new(id, published, value, &group.unit, &fitted))
    }

    /// Returns the meanings of the columns: (name, meaning).
    pub fn columns(&self) -> Vec<(&str, &str)> {
        self.columns.iter().map(|(a, b)| (&**a, &**b)).collect()
    }
}
