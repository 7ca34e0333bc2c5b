//! Integers of Python. Errors state the allowed range.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An amount in units, or a count: 0 to 2^32 - 1.
#[derive(Clone, Copy)]
pub struct Units(pub u32);

/// A time in ns, or a seed: 0 to 2^64 - 1.
#[derive(Clone, Copy)]
pub struct Whole(pub u64);

fn whole(from: &Bound<'_, PyAny>, max: u64) -> PyResult<u64> {
    if let Ok(number) = from.extract::<u64>()
        && number <= max
    {
        return Ok(number);
    }
    let message = format!(
        "the value is {}; allowed: whole numbers 0 to {max}",
        from.repr()?
    );
    // An integer out of range is a ValueError, any other type a TypeError.
    if from.hasattr("__index__")? {
        Err(PyValueError::new_err(message))
    } else {
        Err(PyTypeError::new_err(message))
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Units {
    type Error = PyErr;

    fn extract(from: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let number = whole(&from, u32::MAX.into())?;
        Ok(Self(u32::try_from(number).unwrap_or(u32::MAX)))
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(from: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        whole(&from, u64::MAX).map(Self)
    }
}
