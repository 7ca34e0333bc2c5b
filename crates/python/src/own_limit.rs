//! Limit rules that a program registers as classes of Python.

use std::fmt;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use taut_dql::MAX_LIMIT;
use taut_path::limit::{CompletionBatch as Batch, Limit, LimitInfo, Needs, Unit};
use taut_path::{AnyLimit, Registry};

use crate::error::ScenarioError;
use crate::interrupt::call_rule;
use crate::number::Units;

/// A completion batch, as it is passed to a registered rule.
#[pyclass(frozen, get_all, module = "taut")]
pub struct CompletionBatch {
    now_ns: u64,
    units: u32,
    in_flight: u32,
    last_object: u32,
    times_blocked: u32,
    rate_per_s: u64,
    ring_units: u32,
    more_pending: bool,
}

impl From<&Batch> for CompletionBatch {
    fn from(batch: &Batch) -> Self {
        Self {
            now_ns: batch.now_ns,
            units: batch.units,
            in_flight: batch.in_flight,
            last_object: batch.last_object,
            times_blocked: batch.times_blocked,
            rate_per_s: batch.rate_per_s,
            ring_units: batch.ring_units,
            more_pending: batch.more_pending,
        }
    }
}

/// A registered class. It stays registered until the process ends.
#[derive(Debug)]
struct Registered {
    info: LimitInfo,
    class: Py<PyType>,
}

impl Registered {
    /// Returns a new rule and its initial limit.
    fn begin(&self, py: Python<'_>, now_ns: u64) -> PyResult<(Py<PyAny>, u32)> {
        let rule = self.class.bind(py).call0()?;
        let limit = self.at_time(&rule, "begin", now_ns)?;
        Ok((rule.unbind(), limit.unwrap_or(0)))
    }

    /// Calls `begin` or `reset`, which are optional and can return `None` for a limit of 0.
    fn at_time(&self, rule: &Bound<'_, PyAny>, method: &str, ns: u64) -> PyResult<Option<u32>> {
        match rule.getattr_opt(method)? {
            None => Ok(None),
            Some(call) => match call.call1((ns,))? {
                nothing if nothing.is_none() => Ok(Some(0)),
                limit => self.units(method, &limit).map(Some),
            },
        }
    }

    fn units(&self, method: &str, returned: &Bound<'_, PyAny>) -> PyResult<u32> {
        let py = returned.py();
        let units = returned.extract::<Units>();
        units.map(|it| it.0.min(MAX_LIMIT)).map_err(|why| {
            let (name, value) = (self.info.name, why.value(py).to_string());
            let message = format!("limit {name:?}, what {method} returned: {value}");
            PyErr::from_type(why.get_type(py), message)
        })
    }
}

/// A rule of a registered class. Each clone is a rule that has not begun.
#[derive(Debug)]
struct OwnLimit {
    registered: &'static Registered,
    rule: Option<Py<PyAny>>,
    limit: u32,
}

impl OwnLimit {
    fn new(registered: &'static Registered) -> Self {
        Self {
            registered,
            rule: None,
            limit: 0,
        }
    }
}

impl Clone for OwnLimit {
    fn clone(&self) -> Self {
        Self::new(self.registered)
    }
}

impl Limit for OwnLimit {
    fn unit(&self) -> Unit {
        match self.registered.info.adapts {
            true => Unit::Bytes,
            false => Unit::Packets,
        }
    }

    fn begin(&mut self, now_ns: u64) {
        if let Some((rule, limit)) = call_rule(|py| self.registered.begin(py, now_ns)) {
            (self.rule, self.limit) = (Some(rule), limit);
        }
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn completed(&mut self, batch: &Batch) -> u32 {
        if let Some(rule) = &self.rule {
            let limit = call_rule(|py| {
                let batch = CompletionBatch::from(batch);
                let limit = rule.bind(py).call_method1("completed", (batch,))?;
                self.registered.units("completed", &limit)
            });
            self.limit = limit.unwrap_or(self.limit);
        }
        self.limit
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            rate: true,
            ..Needs::default()
        }
    }

    fn reset(&mut self, now_ns: u64) {
        let reset = |py: Python<'_>| match &self.rule {
            Some(rule) => self.registered.at_time(rule.bind(py), "reset", now_ns),
            None => Ok(None),
        };
        match call_rule(reset) {
            Some(Some(limit)) => self.limit = limit,
            // Without the method, a new rule begins.
            Some(None) => self.begin(now_ns),
            None => {}
        }
    }
}

impl fmt::Display for OwnLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.registered.info.name)
    }
}

fn unit_of(class: &Bound<'_, PyType>) -> PyResult<Unit> {
    let Some(unit) = class.getattr_opt("unit")? else {
        return Ok(Unit::Bytes);
    };
    match unit.extract::<String>().as_deref() {
        Ok("bytes") => Ok(Unit::Bytes),
        Ok("packets") => Ok(Unit::Packets),
        _ => Err(PyValueError::new_err(format!(
            "unit of {class} is {}; allowed: bytes, packets",
            unit.repr()?
        ))),
    }
}

/// Registers a class of limit rules under a name.
#[pyfunction]
pub fn register_limit(name: String, rule: Bound<'_, PyType>, help: String) -> PyResult<()> {
    if !rule.hasattr("completed")? {
        let message = format!("{rule} has no method completed(self, batch)");
        return Err(PyTypeError::new_err(message));
    }
    let adapts = unit_of(&rule)? == Unit::Bytes;
    // Leaked, because the registry lives as long as the process; also for a rejected name.
    let name: &'static str = name.leak();
    let registered: &'static Registered = Box::leak(Box::new(Registered {
        info: LimitInfo {
            name,
            usage: name,
            help: help.leak(),
            adapts,
        },
        class: rule.unbind(),
    }));
    let mut registry = Registry::new();
    let make = move |argument: Option<&str>| match argument {
        None => Ok(AnyLimit::new(OwnLimit::new(registered))),
        Some(_) => Err(format!(
            "{name} takes nothing after its name but :packets and a cap in time such as :2ms"
        )),
    };
    registry
        .register_limit(registered.info, make)
        .and_then(|()| registry.install())
        .map_err(|why| ScenarioError::new_err(why.to_string()))
}
