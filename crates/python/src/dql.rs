//! Linux's byte queue limits, with a ledger.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use taut_dql::Config;

use crate::error::of_ledger;
use crate::exclusive::Exclusive;
use crate::number::{Units, Whole};

/// Linux's byte queue limits, with a ledger. Not thread-safe: use one thread or a lock.
#[pyclass(module = "taut")]
pub struct Dql(Exclusive<taut_dql::Dql>);

impl Dql {
    fn try_with<T>(
        &mut self,
        work: impl FnOnce(&mut taut_dql::Dql) -> Result<T, taut_dql::Error>,
    ) -> PyResult<T> {
        work(self.0.get_mut()).map_err(of_ledger)
    }
}

#[pymethods]
impl Dql {
    #[new]
    #[pyo3(
        signature = (now_ns=Whole(0), *, limit=None, min_limit=None, max_limit=None, hold_time_ns=None),
        text_signature = "(now_ns=0, *, limit=None, min_limit=None, max_limit=None, hold_time_ns=None)"
    )]
    fn new(
        now_ns: Whole,
        limit: Option<Units>,
        min_limit: Option<Units>,
        max_limit: Option<Units>,
        hold_time_ns: Option<Whole>,
    ) -> PyResult<Self> {
        let or = |value: Option<Units>, default| value.map_or(default, |it| it.0);
        let default = Config::default();
        let config = Config {
            limit: or(limit, default.limit),
            min_limit: or(min_limit, default.min_limit),
            max_limit: or(max_limit, default.max_limit),
            hold_time_ns: hold_time_ns.map_or(default.hold_time_ns, |it| it.0),
        };
        taut_dql::Dql::with_config(config, now_ns.0)
            .map(|dql| Self(Exclusive::new(dql)))
            .map_err(of_ledger)
    }

    /// Counts one submitted object. Call it before the device can see the object.
    fn queued(&mut self, units: Units) -> PyResult<()> {
        self.try_with(|dql| dql.queued(units.0))
    }

    /// Removes the object queued last, which the device has not seen.
    fn unqueue(&mut self, units: Units) -> PyResult<()> {
        self.try_with(|dql| dql.unqueue(units.0))
    }

    /// Counts a completion batch and updates the limit: once per reap, never with 0 units.
    fn completed(&mut self, units: Units, now_ns: Whole) -> PyResult<()> {
        self.try_with(|dql| dql.completed(units.0, now_ns.0))
    }

    /// As `completed`, from the number of outstanding units. Returns the completed units.
    fn observe_in_flight(&mut self, units: Units, now_ns: Whole) -> PyResult<u32> {
        self.try_with(|dql| dql.observe_in_flight(units.0, now_ns.0))
    }

    /// Sets the ledger to the units that the device holds. Returns the excess of the ledger.
    fn repair(&mut self, in_flight: Units, now_ns: Whole) -> PyResult<i64> {
        self.try_with(|dql| dql.repair(in_flight.0, now_ns.0))
    }

    /// Discards the units in flight and starts at `min_limit`, after the device was flushed.
    fn reset(&mut self, now_ns: Whole) {
        self.0.get_mut().reset(now_ns.0);
    }

    /// Units left below the limit. One more object can be queued while it is at least 0.
    #[getter]
    fn room(&self) -> i32 {
        self.0.get().room()
    }

    /// `True` if one more object can be queued.
    #[getter]
    fn has_room(&self) -> bool {
        self.0.get().has_room()
    }

    /// Units queued and not yet completed.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.0.get().in_flight()
    }

    /// Maximum in flight, in units.
    #[getter]
    fn limit(&self) -> u32 {
        self.0.get().limit()
    }

    #[setter]
    fn set_limit(&mut self, limit: Units) -> PyResult<()> {
        self.try_with(|dql| dql.set_limit(limit.0))
    }

    #[getter]
    fn min_limit(&self) -> u32 {
        self.0.get().snapshot().min_limit
    }

    #[setter]
    fn set_min_limit(&mut self, min_limit: Units) -> PyResult<()> {
        self.try_with(|dql| dql.set_min_limit(min_limit.0))
    }

    #[getter]
    fn max_limit(&self) -> u32 {
        self.0.get().snapshot().max_limit
    }

    #[setter]
    fn set_max_limit(&mut self, max_limit: Units) -> PyResult<()> {
        self.try_with(|dql| dql.set_max_limit(max_limit.0))
    }

    #[getter]
    fn hold_time_ns(&self) -> u64 {
        self.0.get().snapshot().hold_time_ns
    }

    #[setter]
    fn set_hold_time_ns(&mut self, hold_time_ns: Whole) {
        self.0.get_mut().set_hold_time_ns(hold_time_ns.0);
    }

    /// The current state of the rule.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let it = self.0.get().snapshot();
        let dict = PyDict::new(py);
        for (name, value) in [
            ("limit", i128::from(it.limit)),
            ("adj_limit", it.adj_limit.into()),
            ("num_queued", it.num_queued.into()),
            ("num_completed", it.num_completed.into()),
            ("room", it.room.into()),
            ("window_start_ns", it.window_start_ns.into()),
            ("lowest_slack", it.lowest_slack.into()),
            ("prev_over_limit", it.prev_over_limit.into()),
            ("prev_num_queued", it.prev_num_queued.into()),
            ("prev_last_object", it.prev_last_object.into()),
            ("last_object", it.last_object.into()),
            ("min_limit", it.min_limit.into()),
            ("max_limit", it.max_limit.into()),
            ("hold_time_ns", it.hold_time_ns.into()),
            ("epoch", it.epoch.into()),
            ("in_flight", it.in_flight.into()),
        ] {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let (limit, in_flight) = (self.0.get().limit(), self.0.get().in_flight());
        format!("<taut.Dql limit={limit} in_flight={in_flight}>")
    }
}
