use crate::{Error, MAX_LIMIT};

/// The settings of a queue, initial or current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The limit, in units, at most [`MAX_LIMIT`]. Default 0. As an initial setting it applies
    /// immediately, as a change from the next completion on. Each completion clamps it to the two
    /// bounds.
    pub limit: u32,
    /// The lower bound of the limit, in units, at most `max_limit`. Default 0.
    pub min_limit: u32,
    /// The upper bound of the limit, in units, at most [`MAX_LIMIT`], which is the default.
    pub max_limit: u32,
    /// The hold time, in nanoseconds: slack is observed for this time before the limit decreases.
    /// The default of 1 s is that of Linux.
    pub hold_time_ns: u64,
}

impl Config {
    pub(crate) const DEFAULT: Config = Config {
        limit: 0,
        min_limit: 0,
        max_limit: MAX_LIMIT,
        hold_time_ns: 1_000_000_000,
    };

    /// Checks the settings. Returns [`Error::LimitTooLarge`] for a limit or a bound above
    /// [`MAX_LIMIT`], and [`Error::MinAboveMax`] for bounds that exclude every limit.
    pub fn validate(&self) -> Result<(), Error> {
        for limit in [self.limit, self.min_limit, self.max_limit] {
            if limit > MAX_LIMIT {
                return Err(Error::LimitTooLarge { limit });
            }
        }
        let (min_limit, max_limit) = (self.min_limit, self.max_limit);
        if min_limit > max_limit {
            return Err(Error::MinAboveMax {
                min_limit,
                max_limit,
            });
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::DEFAULT
    }
}
