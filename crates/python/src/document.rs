//! The result document, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use taut_report::document::Document as Found;

/// Row, name, unit, times (uint64, ns) and values (float64), in native byte order.
type SeriesBytes<'py> = (
    String,
    &'static str,
    &'static str,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// The results of a run.
#[pyclass(frozen, module = "taut._taut")]
pub struct Document(pub Found);

#[pymethods]
impl Document {
    /// The document as `taut sim --json` prints it.
    fn json(&self) -> PyResult<String> {
        let json = serde_json::to_string_pretty(&self.0);
        json.map(|text| text + "\n")
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The rows as `taut sim --json-lines` prints them.
    fn json_lines(&self) -> String {
        self.0.json_lines()
    }

    /// The descriptions of the columns.
    fn columns(&self) -> Vec<(&'static str, &'static str)> {
        self.0.columns.to_vec()
    }

    /// The time series.
    fn series<'py>(&self, py: Python<'py>) -> Vec<SeriesBytes<'py>> {
        let series = self.0.series.iter();
        series
            .map(|it| {
                let times = it.points.iter().flat_map(|(at_ns, _)| at_ns.to_ne_bytes());
                let values = it.points.iter().flat_map(|(_, value)| value.to_ne_bytes());
                (
                    it.row.clone(),
                    it.name,
                    it.unit,
                    PyBytes::new(py, &times.collect::<Vec<u8>>()),
                    PyBytes::new(py, &values.collect::<Vec<u8>>()),
                )
            })
            .collect()
    }
}
