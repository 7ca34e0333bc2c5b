//! Errors of a testbed: invalid settings and faults during a run.

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
    #[error("invalid {what}; allowed: {allowed}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// The allowed values.
        allowed: &'static str,
    },
    /// More is in flight than a limit can count.
    #[error(transparent)]
    Count(#[from] CountError),
    /// A queue became faulty.
    #[error(transparent)]
    Fault(#[from] QueueFault),
}

/// Returns an error for the setting `what` unless `holds`.
pub(crate) fn demand(
    holds: bool,
    what: &'static str,
    allowed: &'static str,
) -> Result<(), TestbedError> {
    match holds {
        true => Ok(()),
        false => Err(TestbedError::Setting { what, allowed }),
    }
}

/// Rejects objects that no limit can count. A queue drops them, so a saturating sender would never
/// stop.
pub(crate) fn demand_countable(
    mut bytes: impl Iterator<Item = u32>,
    what: &'static str,
) -> Result<(), TestbedError> {
    const ALLOWED: &str = "at most 268435455 bytes, the most that a limit can count";
    demand(bytes.all(|it| it <= MAX_OBJECT), what, ALLOWED)
}

/// Rejects times that are not ascending.
pub(crate) fn demand_order(
    times_ns: impl Iterator<Item = u64>,
    what: &'static str,
) -> Result<(), TestbedError> {
    demand(times_ns.is_sorted(), what, "in order of time")
}
