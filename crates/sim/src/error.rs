//! Why a testbed cannot be, or could not go on.

use std::fmt;

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
    /// A queue went wrong.
    Fault(QueueFault),
}

impl fmt::Display for TestbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic(error) => error.fmt(f),
            Self::Queue(error) => error.fmt(f),
            Self::Missing(what) => write!(f, "{what}; at least one is needed"),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for TestbedError {}

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
