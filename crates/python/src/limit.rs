//! A limit from its text, with a ledger.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use taut_dql::MAX_LIMIT;
use taut_path::limit::{Limit as _, ParseLimitError, StandaloneLimit, Unit};
use taut_path::{AnyLimit, Registry};

use crate::error::{LedgerError, ScenarioError};
use crate::interrupt::raising;
use crate::number::{Units, Whole};

/// A limit from its text, with a ledger. Not thread-safe: use one thread or a lock.
#[pyclass(module = "taut")]
pub struct Limit(Mutex<StandaloneLimit<AnyLimit>>);

impl Limit {
    fn get(&self) -> MutexGuard<'_, StandaloneLimit<AnyLimit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which can call rules of Python.
    fn try_with<T>(
        &mut self,
        work: impl FnOnce(&mut StandaloneLimit<AnyLimit>) -> Result<T, taut_dql::Error>,
    ) -> PyResult<T> {
        raising(|| work(&mut self.get()).map_err(|error| LedgerError::new_err(error.to_string())))
    }
}

#[pymethods]
impl Limit {
    #[new]
    #[pyo3(signature = (spec, now_ns=Whole(0)), text_signature = "(spec, now_ns=0)")]
    fn new(spec: &str, now_ns: Whole) -> PyResult<Self> {
        let rule: AnyLimit = spec.parse().map_err(|error: ParseLimitError| {
            ScenarioError::new_err(format!("limit {spec:?}: {error}"))
        })?;
        let limit = raising(|| Ok(StandaloneLimit::new(rule, now_ns.0)))?;
        Ok(Self(Mutex::new(limit)))
    }

    /// Counts one submitted object. Call it before the device can see the object.
    fn queued(&mut self, units: Units, now_ns: Whole) -> PyResult<()> {
        self.try_with(|limit| limit.queued(units.0, now_ns.0))
    }

    /// Removes the object queued last, which the device has not seen.
    fn unqueue(&mut self, units: Units) -> PyResult<()> {
        self.try_with(|limit| limit.unqueue(units.0))
    }

    /// Reports that the sender is blocked by the limit. Most rules need it to adapt.
    fn blocked(&mut self) {
        self.get().blocked();
    }

    /// Counts a completion batch, once per reap; `more_pending`: more completions are pending.
    #[pyo3(signature = (units, now_ns, *, more_pending=false))]
    fn completed(&mut self, units: Units, now_ns: Whole, more_pending: bool) -> PyResult<()> {
        self.try_with(|limit| limit.completed(units.0, more_pending, now_ns.0))
    }

    /// As `completed`, from the number of outstanding units. Returns the completed units.
    fn observe_in_flight(&mut self, units: Units, now_ns: Whole) -> PyResult<u32> {
        self.try_with(|limit| limit.observe_in_flight(units.0, now_ns.0))
    }

    /// Discards the units in flight and the learnt state, after the device was flushed.
    fn reset(&mut self, now_ns: Whole) -> PyResult<()> {
        self.try_with(|limit| {
            limit.reset(now_ns.0);
            Ok(())
        })
    }

    /// Units left below the limit. One more object can be queued while it is at least 0.
    #[getter]
    fn room(&self) -> i64 {
        self.get().room()
    }

    /// `True` if one more object can be queued.
    #[getter]
    fn has_room(&self) -> bool {
        self.get().has_room()
    }

    /// Units queued and not yet completed.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.get().in_flight()
    }

    /// The limit in units, as configured: "7p" is 7 and admits 7 packets. 0 is a limit that admits
    /// one object at a time; see `unlimited`.
    #[getter]
    fn limit(&self) -> u32 {
        self.get().rule().config().limit
    }

    /// `True` if no limit applies, as with "off". `limit` is then 1,879,048,192.
    #[getter]
    fn unlimited(&self) -> bool {
        self.get().rule().config().limit >= MAX_LIMIT
    }

    /// Rate of the device in units per second, if the rule needs it; 0 while it is unknown.
    #[getter]
    fn rate_per_s(&self) -> u64 {
        self.get().rate_per_s()
    }

    /// "bytes" or "packets".
    #[getter]
    fn unit(&self) -> &'static str {
        match self.get().rule().unit() {
            Unit::Bytes => "bytes",
            Unit::Packets => "packets",
        }
    }

    /// The text from which it can be created.
    #[getter]
    fn spec(&self) -> String {
        self.get().rule().to_string()
    }

    /// Changes the given settings.
    #[pyo3(signature = (*, limit=None, min_limit=None, max_limit=None, hold_time_ns=None))]
    fn configure(
        &mut self,
        limit: Option<Units>,
        min_limit: Option<Units>,
        max_limit: Option<Units>,
        hold_time_ns: Option<Whole>,
    ) -> PyResult<()> {
        let mut config = self.get().rule().config();
        config.limit = limit.map_or(config.limit, |it| it.0);
        config.min_limit = min_limit.map_or(config.min_limit, |it| it.0);
        config.max_limit = max_limit.map_or(config.max_limit, |it| it.0);
        config.hold_time_ns = hold_time_ns.map_or(config.hold_time_ns, |it| it.0);
        self.try_with(|limit| limit.set_config(config))
    }

    fn __repr__(&self) -> String {
        let (spec, limit) = (self.spec(), self.limit());
        let (in_flight, unit) = (self.in_flight(), self.unit());
        format!("<taut.Limit {spec:?} limit={limit} in_flight={in_flight} {unit}>")
    }
}

/// The syntax and the help of each rule, built-in ones first.
#[pyfunction]
pub fn rule_names() -> Vec<(&'static str, &'static str)> {
    let registry = Registry::installed();
    let rules = registry.limits();
    rules.map(|rule| (rule.usage, rule.help)).collect()
}
