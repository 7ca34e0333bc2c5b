//! What is raised, and for what.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use taut_scenarios::error::ScenarioError as NativeError;

create_exception!(
    taut,
    ScenarioError,
    PyValueError,
    "A scenario, a setting or a trace that cannot be; says which, and what is allowed."
);
create_exception!(
    taut,
    LedgerError,
    PyValueError,
    "A mistake of the caller in what is queued or completed. It has changed nothing."
);
create_exception!(
    taut,
    Fault,
    PyRuntimeError,
    "A simulated queue went wrong: a bug in taut, and nothing that was found is to be trusted."
);

pub fn of_scenario(error: NativeError) -> PyErr {
    match error {
        NativeError::Fault(fault) => Fault::new_err(fault.to_string()),
        NativeError::Io(error) => PyErr::from(error),
        error => ScenarioError::new_err(error.to_string()),
    }
}

pub fn of_ledger(error: taut_dql::Error) -> PyErr {
    LedgerError::new_err(error.to_string())
}
