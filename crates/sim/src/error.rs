//! Why a testbed cannot be, or could not go on.

use std::fmt;

use taut_dql::{Error as CountError, MAX_OBJECT};
use taut_path::queue::QueueConfigError;

use crate::nic::NicConfigError;
use crate::queue::QueueFault;

/// Why a testbed cannot be, or could not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestbedError {
    /// A NIC cannot be made of its settings.
    Nic(NicConfigError),
    /// A queue or its limit cannot.
    Queue(QueueConfigError),
    /// It lacks what every run needs; says what.
    Missing(&'static str),
    /// A setting is not what it may be.
    Setting {
        /// Which.
        what: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
    /// More is in flight than can be counted.
    Count(CountError),
    /// A queue went wrong.
    Fault(QueueFault),
}

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic(error) => error.fmt(f),
            Self::Queue(error) => error.fmt(f),
            Self::Missing(what) => write!(f, "{what}; at least one is needed"),
            Self::Setting { what, allowed } => {
                write!(f, "{what} cannot be so; allowed: {allowed}")
            }
            Self::Count(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for TestbedError {}

/// Refuses a setting, unless it `holds`.
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

/// Refuses objects that no limit can count: they are dropped, and who always has another would send
/// for ever.
pub(crate) fn demand_countable(
    mut bytes: impl Iterator<Item = u32>,
    what: &'static str,
) -> Result<(), TestbedError> {
    const ALLOWED: &str = "at most 268435455 bytes, the most that a limit can count";
    demand(bytes.all(|it| it <= MAX_OBJECT), what, ALLOWED)
}

/// Refuses times that go back.
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
