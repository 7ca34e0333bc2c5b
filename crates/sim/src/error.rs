//! Errors of a testbed: invalid settings and faults during a run.

use std::fmt;

use taut_dql::{Error as CountError, MAX_OBJECT};
use taut_path::queue::QueueConfigError;

use crate::nic::NicConfigError;
use crate::queue::QueueFault;

/// Why a testbed cannot be built or had to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestbedError {
    /// The settings of a NIC are invalid.
    Nic(NicConfigError),
    /// The settings of a queue or of its limit are invalid.
    Queue(QueueConfigError),
    /// A required part is missing; contains its description.
    Missing(&'static str),
    /// A setting is out of its range.
    Setting {
        /// The setting.
        what: &'static str,
        /// The allowed values.
        allowed: &'static str,
    },
    /// More is in flight than a limit can count.
    Count(CountError),
    /// A queue became faulty.
    Fault(QueueFault),
}

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic(error) => error.fmt(f),
            Self::Queue(error) => error.fmt(f),
            Self::Missing(what) => write!(f, "{what}; at least one is needed"),
            Self::Setting { what, allowed } => {
                write!(f, "invalid {what}; allowed: {allowed}")
            }
            Self::Count(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for TestbedError {}

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

impl From<CountError> for TestbedError {
    fn from(error: CountError) -> Self {
        Self::Count(error)
    }
}

impl From<NicConfigError> for TestbedError {
    fn from(error: NicConfigError) -> Self {
        Self::Nic(error)
    }
}

impl From<QueueConfigError> for TestbedError {
    fn from(error: QueueConfigError) -> Self {
        Self::Queue(error)
    }
}

impl From<QueueFault> for TestbedError {
    fn from(fault: QueueFault) -> Self {
        Self::Fault(fault)
    }
}
