//! The settings of a queue, by type and by their sysfs names.

use taut_dql::{Config, Error, MAX_LIMIT};

/// Nanoseconds per millisecond, the unit of the times below.
pub(crate) const NS_PER_MS: u64 = 1_000_000;

/// A number of a queue that an operator reads or writes, by its sysfs name. Times are in ms here,
/// and in ns in [`Config`] and [`QueueConfig`](crate::QueueConfig).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunable {
    /// The current limit, in the limit's units; the rule continues from it.
    Limit,
    /// The lower bound of the limit.
    LimitMin,
    /// The upper bound of the limit. The text `max` sets [`MAX_LIMIT`].
    LimitMax,
    /// The hold time: the rule observes slack for this time before the limit decreases, in ms.
    HoldTimeMs,
    /// Queued minus completed, in the limit's units. Read only.
    Inflight,
    /// Age of the oldest byte in flight that counts as a stall, in ms; 0 is off.
    StallThresholdMs,
    /// Stalls so far. Read only.
    StallCnt,
    /// The longest stall, in ms. Read only.
    StallMax,
}

/// A tunable and its new value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The tunable; one that is read only is rejected.
    pub tunable: Tunable,
    /// The new value, in the unit of the tunable.
    pub value: u32,
}

/// The reason why a tunable was not set; nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TunableError {
    /// No tunable has this name.
    #[error("unknown tunable; allowed: {}", Tunable::ALL.map(Tunable::name).join(" "))]
    UnknownName,
    /// The tunable is read only.
    #[error("{} can only be read", .0.name())]
    ReadOnly(Tunable),
    /// The value is not allowed.
    #[error("bad {}; allowed: {}", .0.name(), .0.allowed())]
    BadValue(Tunable),
    /// The rule rejects the value.
    #[error("bad {}: {}", .0.name(), .1)]
    Rejected(Tunable, Error),
}

impl Tunable {
    /// All tunables.
    pub const ALL: [Self; 8] = [
        Self::Limit,
        Self::LimitMin,
        Self::LimitMax,
        Self::HoldTimeMs,
        Self::Inflight,
        Self::StallThresholdMs,
        Self::StallCnt,
        Self::StallMax,
    ];

    /// Returns the sysfs name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::LimitMin => "limit_min",
            Self::LimitMax => "limit_max",
            Self::HoldTimeMs => "hold_time",
            Self::Inflight => "inflight",
            Self::StallThresholdMs => "stall_thrs",
            Self::StallCnt => "stall_cnt",
            Self::StallMax => "stall_max",
        }
    }

    /// Returns the allowed values.
    pub const fn allowed(self) -> &'static str {
        match self {
            // Literals, because const text cannot be built from numbers; a test compares them with
            // the code.
            Self::Limit | Self::LimitMin => "0 to 1879048192",
            Self::LimitMax => "0 to 1879048192, or max",
            Self::HoldTimeMs | Self::StallThresholdMs => "0 to 4294967295 ms",
            Self::Inflight | Self::StallCnt | Self::StallMax => "nothing, it is read only",
        }
    }

    /// Returns the tunable called `name`.
    ///
    /// # Errors
    /// [`TunableError::UnknownName`] lists the names.
    pub fn by_name(name: &str) -> Result<Self, TunableError> {
        Self::ALL
            .into_iter()
            .find(|tunable| tunable.name() == name)
            .ok_or(TunableError::UnknownName)
    }

    /// Parses a value of the tunable.
    ///
    /// # Errors
    /// [`TunableError::BadValue`] lists the allowed values; [`TunableError::ReadOnly`].
    pub fn parse(self, value: &str) -> Result<Setting, TunableError> {
        self.check_writable()?;
        let value = match value.trim() {
            "max" if self == Self::LimitMax => MAX_LIMIT,
            value => value.parse().map_err(|_| TunableError::BadValue(self))?,
        };
        Ok(Setting {
            tunable: self,
            value,
        })
    }

    /// Returns an error if the tunable is read only.
    pub(crate) const fn check_writable(self) -> Result<(), TunableError> {
        match self {
            Self::Inflight | Self::StallCnt | Self::StallMax => Err(TunableError::ReadOnly(self)),
            _ => Ok(()),
        }
    }
}

impl Setting {
    /// Applies the setting to the settings of a limit, if it is one of them.
    pub(crate) fn change(self, config: &mut Config) {
        let value = self.value;
        match self.tunable {
            Tunable::Limit => config.limit = value,
            Tunable::LimitMin => config.min_limit = value,
            Tunable::LimitMax => config.max_limit = value,
            Tunable::HoldTimeMs => config.hold_time_ns = u64::from(value) * NS_PER_MS,
            _ => {}
        }
    }
}
