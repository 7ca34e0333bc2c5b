//! Descriptions of the scenarios and of their columns, from `files/about.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::schema::file;

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

    /// Returns the meanings of the columns: (name, meaning).
    pub fn columns(&self) -> Vec<(&str, &str)> {
        self.columns.iter().map(|(a, b)| (&**a, &**b)).collect()
    }
}
