//! The native part of the Python package `taut`. The public interface is in `python/taut`.

mod background;
mod document;
mod error;
mod interrupt;
mod limit;
mod number;
mod own_limit;
mod replay;
mod run;
mod settings;
mod sweep;
mod trace;

use pyo3::prelude::*;

/// The native part of the package taut.
#[pymodule]
mod _taut {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::document::Document;
    #[pymodule_export]
    use super::error::{Fault, LedgerError, ScenarioError};
    #[pymodule_export]
    use super::limit::{Limit, rule_names};
    #[pymodule_export]
    use super::own_limit::{CompletionBatch, register_limit};
    #[pymodule_export]
    use super::replay::replay;
    #[pymodule_export]
    use super::run::{patterns, scenarios, simulate, with_settings};
    #[pymodule_export]
    use super::sweep::{Sweep, finished_line};
    #[pymodule_export]
    use super::trace::trace;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
