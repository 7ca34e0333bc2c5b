//! Descriptions of the scenarios and of their columns, from `files/about.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use taut_report::document::Figure;

/// Returns the text of a file in `files`.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/files/",
            $name,
            ".toml"
        ))
    };
}

pub(crate) use file;

/// The description of a scenario, or of one kind of its rows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Description {
    /// One line.
    pub about: String,
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

    /// Returns `true` if there are published results.
    pub fn has_figures(&self) -> bool {
        !self.published.is_empty()
    }

    /// Returns the meanings of the columns: (name, meaning).
    pub fn columns(&self) -> Vec<(&str, &str)> {
        self.columns.iter().map(|(a, b)| (&**a, &**b)).collect()
    }
}

/// Compares `value` with the published result of this id, if there is one. Each id belongs to one
/// scenario.
pub(crate) fn published_figure(id: String, value: f64) -> Option<Figure> {
    let mut groups = ALL.values().flat_map(|it| &it.published);
    let (group, published) = groups.find_map(|it| Some((it, it.values.get(&id)?)))?;
    let fitted: Vec<&str> = group.fitted.iter().map(String::as_str).collect();
    Some(Figure::new(id, published, value, &group.unit, &fitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_published_once() {
        let groups = ALL.values().flat_map(|it| &it.published);
        let mut ids: Vec<&String> = groups.flat_map(|it| it.values.keys()).collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}
