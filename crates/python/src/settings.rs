//! Converts values of Python to values of a scenario file.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};
use taut_scenarios::sweep::prepare;

use crate::error::of_scenario;

/// Returns a value as `taut_scenarios::setting::with` accepts it: a string is not quoted.
pub fn written(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.extract::<String>() {
        Ok(text) => Ok(text),
        Err(_) => element(value),
    }
}

/// Returns a value in TOML.
fn element(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyString>() {
        return Ok(quoted(&value.extract::<String>()?));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(if value.is_truthy()? { "true" } else { "false" }.to_owned());
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(value.str()?.to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items: PyResult<Vec<String>> = value.try_iter()?.map(|it| element(&it?)).collect();
        return Ok(format!("[{}]", items?.join(", ")));
    }
    // Paths, and numbers and arrays of NumPy.
    for method in ["__fspath__", "tolist"] {
        if value.hasattr(method)? {
            return element(&value.call_method0(method)?);
        }
    }
    Err(PyTypeError::new_err(format!(
        "{} cannot be a setting; allowed: text, numbers, bools, paths, and lists of them",
        value.repr()?
    )))
}

/// Quotes a string for TOML: as JSON does, except for a character that JSON need not escape.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007F")
}

/// Returns the name of the list of limits of a scenario for `limit`, otherwise `key`.
pub fn alias(text: &str, key: String) -> PyResult<String> {
    if key != "limit" {
        return Ok(key);
    }
    let parameters = prepare(text, None)
        .map_err(of_scenario)?
        .document()
        .parameters;
    let list = ["limits", "rules"]
        .into_iter()
        .find(|list| parameters.get(list).is_some());
    Ok(list.map_or(key, str::to_owned))
}
