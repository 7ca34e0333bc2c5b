//! The settings of a queue, by the names that sysfs uses.

use core::fmt;

use taut_dql::{Error, MAX_LIMIT};

use crate::limit::{Limit, LimitCompleter, LimitKnob};
use crate::queue::Reaper;

/// Nanoseconds in the millisecond, the unit of the times below.
const NS_PER_MS: u64 = 1_000_000;

/// One setting of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knob {
    /// The limit now, in the limit's units; the rule moves it on from there.
    Limit,
    /// The least that the rule may set.
    LimitMin,
    /// The most that the rule may set, or `max`.
    LimitMax,
    /// Time over which the rule looks for slack, in ms.
    HoldTime,
    /// Queued minus reported, in the limit's units. Read only.
    Inflight,
    /// Age of the oldest byte in flight that counts as a stall, in ms; 0 is off.
    StallThrs,
    /// Stalls so far. Read only.
    StallCnt,
    /// The longest of them, in ms. Read only.
    StallMax,
}

/// Why a knob was not set; nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobError {
    /// There is no knob of that name.
    UnknownName,
    /// The knob can only be read.
    ReadOnly(Knob),
    /// The value is not what the knob takes.
    BadValue(Knob),
    /// The rule refuses the value.
    Refused(Knob, Error),
}

impl fmt::Display for KnobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName => {
                f.write_str("unknown knob; allowed:")?;
                Knob::ALL
                    .iter()
                    .try_for_each(|knob| write!(f, " {}", knob.name()))
            }
            Self::ReadOnly(knob) => write!(f, "{} can only be read", knob.name()),
            Self::BadValue(knob) => write!(f, "bad {}; allowed: {}", knob.name(), knob.allowed()),
            Self::Refused(knob, error) => write!(f, "bad {}: {error}", knob.name()),
        }
    }
}

impl core::error::Error for KnobError {}

impl Knob {
    /// Every knob.
    pub const ALL: [Self; 8] = [
        Self::Limit,
        Self::LimitMin,
        Self::LimitMax,
        Self::HoldTime,
        Self::Inflight,
        Self::StallThrs,
        Self::StallCnt,
        Self::StallMax,
    ];

    /// The name that sysfs uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::LimitMin => "limit_min",
            Self::LimitMax => "limit_max",
            Self::HoldTime => "hold_time",
            Self::Inflight => "inflight",
            Self::StallThrs => "stall_thrs",
            Self::StallCnt => "stall_cnt",
            Self::StallMax => "stall_max",
        }
    }

    /// What may be written.
    pub const fn allowed(self) -> &'static str {
        match self {
            // Literals, since const text cannot be made of numbers; a test holds them to the code.
            Self::Limit | Self::LimitMin => "0 to 1879048192",
            Self::LimitMax => "0 to 1879048192, or max",
            Self::HoldTime | Self::StallThrs => "0 to 4294967295 ms",
            Self::Inflight | Self::StallCnt | Self::StallMax => "nothing, it is read only",
        }
    }

    /// The knob called `name`.
    ///
    /// # Errors
    /// [`KnobError::UnknownName`] lists the names.
    pub fn by_name(name: &str) -> Result<Self, KnobError> {
        Self::ALL
            .into_iter()
            .find(|knob| knob.name() == name)
            .ok_or(KnobError::UnknownName)
    }
}

impl<L: Limit> Reaper<L> {
    /// Reads a knob, in the units that its variant states.
    pub fn knob(&self, knob: Knob) -> u64 {
        let limit = self.snapshot();
        match knob {
            Knob::Limit => limit.limit.into(),
            Knob::LimitMin => limit.min_limit.into(),
            Knob::LimitMax => limit.max_limit.into(),
            Knob::HoldTime => limit.hold_time_ns / NS_PER_MS,
            Knob::Inflight => limit.in_flight.into(),
            Knob::StallThrs => self.stall_watch().threshold_ns() / NS_PER_MS,
            Knob::StallCnt => self.counters().stalls,
            Knob::StallMax => self.counters().longest_stall_ns / NS_PER_MS,
        }
    }

    /// Writes a knob; a limit takes effect at the next completion.
    ///
    /// # Errors
    /// Says what is allowed; nothing changes.
    pub fn set_knob(&mut self, knob: Knob, value: &str) -> Result<(), KnobError> {
        if matches!(knob, Knob::Inflight | Knob::StallCnt | Knob::StallMax) {
            return Err(KnobError::ReadOnly(knob));
        }
        let number = match value.trim() {
            "max" if knob == Knob::LimitMax => MAX_LIMIT,
            value => value.parse().map_err(|_| KnobError::BadValue(knob))?,
        };
        let limit_knob = match knob {
            Knob::Limit => LimitKnob::Limit,
            Knob::LimitMin => LimitKnob::LimitMin,
            Knob::LimitMax => LimitKnob::LimitMax,
            Knob::HoldTime => {
                self.limit_mut()
                    .set_hold_time_ns(u64::from(number) * NS_PER_MS);
                return Ok(());
            }
            Knob::StallThrs => {
                self.stall_watch_mut()
                    .set_threshold_ns(u64::from(number) * NS_PER_MS);
                return Ok(());
            }
            Knob::Inflight | Knob::StallCnt | Knob::StallMax => {
                return Err(KnobError::ReadOnly(knob));
            }
        };
        self.limit_mut()
            .set(limit_knob, number)
            .map_err(|error| KnobError::Refused(knob, error))
    }
}
