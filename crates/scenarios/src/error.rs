//! Why a scenario could not be run.

use std::fmt;

use taut_path::tsq::BudgetsError;
use taut_sim::error::TestbedError;
use taut_sim::queue::QueueFault;

/// Why a scenario could not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioError {
    /// The file is not understood; says line and column.
    Syntax(String),
    /// There is no scenario of that name.
    UnknownName {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A setting is out of its range; names key, value and range.
    Setting(String),
    /// A queue went wrong: a bug, of which nothing that was found is to be trusted.
    Fault(QueueFault),
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // toml ends its messages with a line break.
            Self::Syntax(message) => f.write_str(message.trim_end()),
            Self::UnknownName { name, known } => {
                write!(f, "no scenario {name:?}; there are {}", known.join(", "))
            }
            Self::Setting(message) => f.write_str(message),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl From<toml::de::Error> for ScenarioError {
    fn from(error: toml::de::Error) -> Self {
        Self::Syntax(error.to_string())
    }
}

/// What a testbed says: settings that contradict each other, or a fault.
impl From<TestbedError> for ScenarioError {
    fn from(error: TestbedError) -> Self {
        match error {
            TestbedError::Fault(fault) => Self::Fault(fault),
            error => Self::Setting(error.to_string()),
        }
    }
}

impl From<BudgetsError> for ScenarioError {
    fn from(error: BudgetsError) -> Self {
        Self::Setting(error.to_string())
    }
}
