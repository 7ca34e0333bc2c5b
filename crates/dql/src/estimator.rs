//! The rule itself: what the completion side knows, and how a completion moves the limit.

use crate::config::{check_bounds, check_limit};
use crate::counter::positive_difference;
use crate::{Config, Error, Snapshot};

/// No slack sample yet: any sample is smaller.
const NO_SAMPLE: u32 = u32::MAX;

/// The state of the completion side. It never touches the producer's, so both variants own one.
#[derive(Clone, Debug)]
pub(crate) struct Estimator {
    pub limit: u32,
    pub num_completed: u32,
    pub prev_num_queued: u32,
    pub prev_over_limit: u32,
    pub prev_last_object: u32,
    pub lowest_slack: u32,
    pub window_start_ns: u64,
    pub hold_time_ns: u64,
    pub min_limit: u32,
    pub max_limit: u32,
}

/// What the producer wrote, read once.
#[derive(Clone, Copy)]
pub(crate) struct Queued {
    pub num_queued: u32,
    pub last_object: u32,
}

impl Estimator {
    /// From a configuration that was validated.
    pub const fn new(config: Config, now_ns: u64) -> Self {
        Estimator {
            limit: config.limit,
            num_completed: 0,
            prev_num_queued: 0,
            prev_over_limit: 0,
            prev_last_object: 0,
            lowest_slack: NO_SAMPLE,
            window_start_ns: now_ns,
            hold_time_ns: config.hold_time_ns,
            min_limit: config.min_limit,
            max_limit: config.max_limit,
        }
    }

    /// Counts a completion, moves the limit, and returns the new `adj_limit`.
    #[inline]
    pub fn completed(&mut self, queued: Queued, units: u32, now_ns: u64) -> Result<u32, Error> {
        let in_flight = queued.num_queued.wrapping_sub(self.num_completed);
        if units > in_flight {
            return Err(over_completion(units, in_flight));
        }
        // Nothing over-completes, so these two are plain amounts below 2^31: no wrapped comparison.
        let left = in_flight - units;
        let prev_left = self.prev_num_queued.wrapping_sub(self.num_completed);

        let over = positive_difference(in_flight, self.limit);
        let all_prev_done = units >= prev_left;
        let starved = (over > 0 && left == 0) || (self.prev_over_limit > 0 && all_prev_done);
        let limit = if starved {
            self.restart_window(now_ns);
            // What was both queued and completed in this interval, and the excess before it. Only
            // a limit raised by hand since the last completion can make the sum wrap.
            let new_and_done = units.saturating_sub(prev_left);
            self.limit
                .wrapping_add(new_and_done)
                .wrapping_add(self.prev_over_limit)
        } else if left > 0 && !all_prev_done {
            self.observe_slack(units, now_ns)
        } else {
            self.limit
        };
        // Not `clamp`: it panics should the bounds ever cross.
        let limit = limit.max(self.min_limit).min(self.max_limit);

        // Excess over a limit that is no longer in force says nothing about the next interval.
        self.prev_over_limit = if limit == self.limit { over } else { 0 };
        self.limit = limit;
        self.prev_last_object = queued.last_object;
        self.prev_num_queued = queued.num_queued;
        self.num_completed = self.num_completed.wrapping_add(units);
        Ok(limit.wrapping_add(self.num_completed))
    }

    /// Counts a completion under a limit that a rule of the caller's chose. Returns the new
    /// `adj_limit`.
    #[inline]
    pub fn completed_under(
        &mut self,
        limit: u32,
        queued: Queued,
        units: u32,
    ) -> Result<u32, Error> {
        let in_flight = queued.num_queued.wrapping_sub(self.num_completed);
        if units > in_flight {
            return Err(over_completion(units, in_flight));
        }
        self.prev_over_limit = positive_difference(in_flight, self.limit);
        self.limit = limit.max(self.min_limit).min(self.max_limit);
        self.prev_last_object = queued.last_object;
        self.prev_num_queued = queued.num_queued;
        self.num_completed = self.num_completed.wrapping_add(units);
        Ok(self.limit.wrapping_add(self.num_completed))
    }

    /// The queue was busy for the whole interval: what it had beyond twice the interval's
    /// completions was not needed. Returns the limit, cut when the window is over.
    #[inline]
    fn observe_slack(&mut self, units: u32, now_ns: u64) -> u32 {
        let had = self.limit.wrapping_add(self.prev_over_limit);
        let mut slack = positive_difference(had, units.wrapping_mul(2));
        if self.prev_over_limit > 0 {
            slack = slack.max(positive_difference(
                self.prev_last_object,
                self.prev_over_limit,
            ));
        }
        self.lowest_slack = self.lowest_slack.min(slack);
        if now_ns.saturating_sub(self.window_start_ns) <= self.hold_time_ns {
            return self.limit;
        }
        let limit = positive_difference(self.limit, self.lowest_slack);
        self.restart_window(now_ns);
        limit
    }

    #[inline]
    fn restart_window(&mut self, now_ns: u64) {
        self.window_start_ns = now_ns;
        self.lowest_slack = NO_SAMPLE;
    }

    /// Forgets all history but the settings. Returns the new `adj_limit`: the room is right at
    /// once, not only after the next completion.
    pub fn reset(&mut self, now_ns: u64) -> u32 {
        *self = Estimator::new(
            Config {
                limit: self.min_limit,
                ..self.config()
            },
            now_ns,
        );
        self.limit
    }

    pub fn set_limit(&mut self, limit: u32) -> Result<(), Error> {
        check_limit(limit)?;
        self.limit = limit;
        Ok(())
    }

    pub fn set_min_limit(&mut self, min_limit: u32) -> Result<(), Error> {
        check_bounds(min_limit, self.max_limit)?;
        self.min_limit = min_limit;
        Ok(())
    }

    pub fn set_max_limit(&mut self, max_limit: u32) -> Result<(), Error> {
        check_bounds(self.min_limit, max_limit)?;
        self.max_limit = max_limit;
        Ok(())
    }

    /// The settings in force; `limit` is the limit of now.
    pub const fn config(&self) -> Config {
        Config {
            limit: self.limit,
            min_limit: self.min_limit,
            max_limit: self.max_limit,
            hold_time_ns: self.hold_time_ns,
        }
    }

    /// Puts both sides together for whoever looks.
    pub fn snapshot(&self, queued: Queued, adj_limit: u32, epoch: u32) -> Snapshot {
        Snapshot {
            limit: self.limit,
            adj_limit,
            num_queued: queued.num_queued,
            num_completed: self.num_completed,
            room: crate::counter::room(adj_limit, queued.num_queued),
            window_start_ns: self.window_start_ns,
            lowest_slack: self.lowest_slack,
            prev_over_limit: self.prev_over_limit,
            prev_num_queued: self.prev_num_queued,
            prev_last_object: self.prev_last_object,
            last_object: queued.last_object,
            min_limit: self.min_limit,
            max_limit: self.max_limit,
            hold_time_ns: self.hold_time_ns,
            epoch,
            in_flight: queued.num_queued.wrapping_sub(self.num_completed),
        }
    }
}

#[cold]
#[inline(never)]
fn over_completion(units: u32, in_flight: u32) -> Error {
    Error::OverCompletion { units, in_flight }
}
