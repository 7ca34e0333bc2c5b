//! Settings and values in the form of C.

use taut_dql::MAX_LIMIT;

use super::placed::argument;
use super::status::Status;

/// Maximum limit in units: with it, no limit applies except the ring.
pub const TAUT_LIMIT_MAX: u32 = 1_879_048_192;

const _: () = assert!(TAUT_LIMIT_MAX == MAX_LIMIT);

/// The settings of a limit. Start from `taut_config_default`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The initial limit, in units.
    pub limit: u32,
    /// Minimum limit, in units.
    pub limit_min: u32,
    /// Maximum limit, in units: at most `TAUT_LIMIT_MAX`.
    pub limit_max: u32,
    /// Must be 0.
    pub reserved: u32,
    /// How long slack is observed before the limit is decreased, in ns.
    pub hold_time_ns: u64,
}

impl TryFrom<Config> for taut_dql::Config {
    type Error = Status;

    fn try_from(config: Config) -> Result<Self, Status> {
        if config.reserved != 0 {
            return Err(Status::BadField);
        }
        Ok(Self {
            limit: config.limit,
            min_limit: config.limit_min,
            max_limit: config.limit_max,
            hold_time_ns: config.hold_time_ns,
        })
    }
}

/// Returns the settings that C points to.
///
/// # Safety
/// `config` is null or points to one.
pub(super) unsafe fn config_at(config: *const Config) -> Result<taut_dql::Config, Status> {
    // SAFETY: guaranteed by the caller.
    unsafe { argument(config) }.ok_or(Status::Null)?.try_into()
}

/// Returns the settings that C points to, or the defaults if that is null.
///
/// # Safety
/// `config` is null or points to one.
pub(super) unsafe fn config_or_default(config: *const Config) -> Result<taut_dql::Config, Status> {
    // SAFETY: guaranteed by the caller.
    match unsafe { argument(config) } {
        Some(config) => config.try_into(),
        None => Ok(taut_dql::Config::default()),
    }
}

impl From<taut_dql::Config> for Config {
    fn from(config: taut_dql::Config) -> Self {
        Self {
            limit: config.limit,
            limit_min: config.min_limit,
            limit_max: config.max_limit.min(TAUT_LIMIT_MAX),
            reserved: 0,
            hold_time_ns: config.hold_time_ns,
        }
    }
}

/// Returns the defaults of Linux's byte queue limits: a limit from 0 to the maximum, with a hold
/// time of a second. Any thread can call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_config_default() -> Config {
    taut_dql::Config::default().into()
}

/// The state of a limit and its ledger at one moment, in units; totals wrap at 2^32.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Snapshot {
    /// The limit.
    pub limit: u32,
    /// The total up to which units can be queued.
    pub adj_limit: u32,
    /// Total queued since the last reset.
    pub num_queued: u32,
    /// Total completed since the last reset.
    pub num_completed: u32,
    /// Units left below the limit; one more object can be queued while it is at least 0.
    pub room: i32,
    /// Queued and not yet completed.
    pub in_flight: u32,
    /// The smallest slack of this window; 4294967295 for none.
    pub lowest_slack: u32,
    /// Units beyond the limit at the last completion.
    pub prev_over_limit: u32,
    /// `num_queued` at the last completion.
    pub prev_num_queued: u32,
    /// Size of the object queued last, in units, at the last completion.
    pub prev_last_object: u32,
    /// Size of the object queued last, in units.
    pub last_object: u32,
    /// Minimum limit.
    pub limit_min: u32,
    /// Maximum limit.
    pub limit_max: u32,
    /// Resets so far, wrapping.
    pub epoch: u32,
    /// When the window of slack began, in ns.
    pub window_start_ns: u64,
    /// How long slack is observed before the limit is decreased, in ns.
    pub hold_time_ns: u64,
}

impl From<taut_dql::Snapshot> for Snapshot {
    fn from(it: taut_dql::Snapshot) -> Self {
        Self {
            limit: it.limit,
            adj_limit: it.adj_limit,
            num_queued: it.num_queued,
            num_completed: it.num_completed,
            room: it.room,
            in_flight: it.in_flight,
            lowest_slack: it.lowest_slack,
            prev_over_limit: it.prev_over_limit,
            prev_num_queued: it.prev_num_queued,
            prev_last_object: it.prev_last_object,
            last_object: it.last_object,
            limit_min: it.min_limit,
            limit_max: it.max_limit,
            epoch: it.epoch,
            window_start_ns: it.window_start_ns,
            hold_time_ns: it.hold_time_ns,
        }
    }
}
