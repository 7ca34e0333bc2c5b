//! Errors of scenarios, traces and replays.

use std::io;

use taut_measure::trace::ReadError;
use taut_path::tsq::FlowBudgetsError;
use taut_sim::error::TestbedError;
use taut_sim::queue::QueueFault;
use taut_sim::replay::TrafficError;
use thiserror::Error;

/// Error of a scenario, of its trace or of a replay.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file cannot be parsed. The text contains line and column.
    // toml ends its messages with a line break.
    #[error("{}", .0.trim_end())]
    Syntax(String),
    /// A setting or a file's content is invalid. The text contains the setting and the allowed
    /// values.
    #[error("{0}")]
    Setting(String),
    /// A queue failed. This is a bug: no result is valid.
    #[error(transparent)]
    Fault(QueueFault),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<toml::de::Error> for ScenarioError {
    fn from(error: toml::de::Error) -> Self {
        Self::Syntax(error.to_string())
    }
}

/// Another error than one of a file is the inner error.
impl From<ScenarioError> for io::Error {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Io(error) => error,
            error => Self::other(error),
        }
    }
}

/// A testbed has contradictory settings, or a fault.
impl From<TestbedError> for ScenarioError {
    fn from(error: TestbedError) -> Self {
        match error {
            TestbedError::Fault(fault) => Self::Fault(fault),
            error => Self::Setting(error.to_string()),
        }
    }
}

impl From<FlowBudgetsError> for ScenarioError {
    fn from(error: FlowBudgetsError) -> Self {
        Self::Setting(error.to_string())
    }
}

impl From<TrafficError> for ScenarioError {
    fn from(error: TrafficError) -> Self {
        match error {
            TrafficError::Read(ReadError::Io(error)) => Self::Io(error),
            error => Self::Setting(error.to_string()),
        }
    }
}
