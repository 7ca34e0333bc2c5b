//! Exceptions.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use taut_scenarios::error::ScenarioError as NativeError;

create_exception!(
    taut,
    ScenarioError,
    PyValueError,
    "An invalid scenario, setting or trace. The message names it and the allowed values."
);
create_exception!(
    taut,
    LedgerError,
    PyValueError,
    "An invalid count of queued or completed units. The call had no effect."
);
create_exception!(
    taut,
    Fault,
    PyRuntimeError,
    "A simulated queue failed: a bug in taut. Discard all results of the run."
);

pub fn of_scenario(error: NativeError) -> PyErr {
    match error {
        NativeError::Fault(fault) => Fault::new_err(fault.to_string()),
        NativeError::Io(error) => PyErr::from(error),
        error => ScenarioError::new_err(error.to_string()),
    }
}
