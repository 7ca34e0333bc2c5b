//! Errors of a testbed: invalid settings and faults during a run.

use std::ops::RangeInclusive;

use taut_dql::{Error as CountError, MAX_OBJECT};
use taut_path::queue::QueueConfigError;
use thiserror::Error;

use crate::nic::NicConfigError;
use crate::queue::QueueFault;

/// Why a testbed cannot be built or had to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TestbedError {
    /// The settings of a NIC are invalid.
    #[error(transparent)]
    Nic(#[from] NicConfigError),
    /// The settings of a queue or of its limit are invalid.
    #[error(transparent)]
    Queue(#[from] QueueConfigError),
    /// A required part is missing; contains its description.
    #[error("{0}; at least one is needed")]
    Missing(&'static str),
    /// A setting is out of its range.
    #[error("{what} is {value}; allowed: {min} to {max}")]
    Setting {
        /// The setting; its name ends with the unit.
        what: &'static str,
        /// The rejected value.
        value: u64,
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// More is in flight than a limit can count.
    #[error(transparent)]
    Count(#[from] CountError),
    /// A queue became faulty.
    #[error(transparent)]
    Fault(#[from] QueueFault),
}

/// Requires that the setting `what` is in `allowed`.
pub(crate) fn demand(
    what: &'static str,
    value: impl Into<u64>,
    allowed: RangeInclusive<u64>,
) -> Result<(), TestbedError> {
    let (value, (min, max)) = (value.into(), allowed.into_inner());
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(TestbedError::Setting {
            what,
            value,
            min,
            max,
        }),
    }
}

/// Rejects objects that no limit can count. A queue drops them, so a saturating sender would never
/// stop.
pub(crate) fn demand_countable(
    mut bytes: impl Iterator<Item = u32>,
    what: &'static str,
) -> Result<(), TestbedError> {
    bytes.try_for_each(|bytes| demand(what, bytes, 0..=MAX_OBJECT.into()))
}

/// Rejects times that are not ascending.
pub(crate) fn demand_order(
    mut times_ns: impl Iterator<Item = u64>,
    what: &'static str,
) -> Result<(), TestbedError> {
    let mut min_ns = 0;
    times_ns.try_for_each(|at_ns| {
        demand(what, at_ns, min_ns..=u64::MAX)?;
        min_ns = at_ns;
        Ok(())
    })
}
