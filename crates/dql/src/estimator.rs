use crate::config::{check_bounds, check_limit};
use crate::counter::{MAX_IN_FLIGHT, positive_difference};
use crate::{Config, Error, Snapshot};

/// No slack sample yet: any sample is smaller.
const NO_SAMPLE: u32 = u32::MAX;

/// Linux's rule without a ledger: what the completion side knows, and how a completion moves the
/// limit. For whoever keeps the totals on their own; [`Dql`](crate::Dql) and the two halves are
/// this rule with a ledger.
///
/// ```
/// # use taut_dql::{Config, Estimator, Queued};
/// let mut estimator = Estimator::new(Config::default(), 0)?;
/// let queued = Queued { num_queued: 1514, last_object: 1514 };
/// let adj_limit = estimator.completed(queued, 1514, 100_000)?;
/// assert_eq!((adj_limit, estimator.limit()), (1514 + 1514, 1514));
/// # Ok::<(), taut_dql::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Estimator {
    pub(crate) limit: u32,
    pub(crate) num_completed: u32,
    pub(crate) prev_num_queued: u32,
    pub(crate) prev_over_limit: u32,
    pub(crate) prev_last_object: u32,
    pub(crate) lowest_slack: u32,
    pub(crate) window_start_ns: u64,
    hold_time_ns: u64,
    min_limit: u32,
    max_limit: u32,
}

/// What the sender wrote, read once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// Total units queued since the last reset, wrapping.
    pub num_queued: u32,
    /// The size of the object queued last, in units; of this one or of a later one when the
    /// sender goes on meanwhile.
    pub last_object: u32,
}

impl Estimator {
    /// The rule with nothing queued or completed yet. The errors are those of
    /// [`Config::validate`].
    pub fn new(config: Config, now_ns: u64) -> Result<Self, Error> {
        config.validate()?;
        Ok(Estimator::from_valid(config, now_ns))
    }

    /// From a configuration that was validated.
    pub(crate) const fn from_valid(config: Config, now_ns: u64) -> Self {
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

    /// Counts a completion and moves the limit. Call it once for each round in which something
    /// completed. Returns the new `adj_limit`: the total up to which may be queued, wrapping, which
    /// is the limit plus all that is completed.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed(&mut self, queued: Queued, units: u32, now_ns: u64) -> Result<u32, Error> {
        let in_flight = queued.num_queued.wrapping_sub(self.num_completed);
        let left = left_in_flight(in_flight, units)?;
        // Nothing over-completes, so these two are plain amounts below 2^31: no wrapped comparison.
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

    /// Counts a completion under a limit that a rule of the caller's chose, brought between the
    /// bounds in force. Returns the new `adj_limit`.
    ///
    /// # Errors
    /// [`Error::OverCompletion`] for more than is in flight.
    #[inline]
    pub fn completed_under(
        &mut self,
        limit: u32,
        queued: Queued,
        units: u32,
    ) -> Result<u32, Error> {
        let in_flight = queued.num_queued.wrapping_sub(self.num_completed);
        left_in_flight(in_flight, units)?;
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

    /// Starts again from the lower bound of the limit with nothing queued or completed, and keeps
    /// the settings. Returns the new `adj_limit`: the room is right at once, not only after the next
    /// completion.
    pub fn reset(&mut self, now_ns: u64) -> u32 {
        let config = Config {
            limit: self.min_limit,
            ..self.config()
        };
        *self = Estimator::from_valid(config, now_ns);
        self.limit
    }

    /// Takes over what the device really holds: what is queued beyond `in_flight` counts as
    /// completed. The limit stays, and a new interval and a new window begin. Returns the new
    /// `adj_limit`.
    ///
    /// To raise what is in flight, raise `queued.num_queued` first.
    pub fn repair(&mut self, queued: Queued, in_flight: u32, now_ns: u64) -> u32 {
        self.num_completed = queued.num_queued.wrapping_sub(in_flight);
        self.prev_num_queued = queued.num_queued;
        self.prev_last_object = queued.last_object;
        self.prev_over_limit = 0;
        self.restart_window(now_ns);
        self.limit.wrapping_add(self.num_completed)
    }

    /// The limit, in units.
    #[inline]
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Total units completed since the last reset, wrapping.
    #[inline]
    pub fn num_completed(&self) -> u32 {
        self.num_completed
    }

    /// Sets the limit by hand, in units, which the next completion brings between its bounds.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT).
    pub fn set_limit(&mut self, limit: u32) -> Result<(), Error> {
        check_limit(limit)?;
        self.limit = limit;
        Ok(())
    }

    /// Sets the lower bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// above the upper bound in force.
    pub fn set_min_limit(&mut self, min_limit: u32) -> Result<(), Error> {
        check_bounds(min_limit, self.max_limit)?;
        self.min_limit = min_limit;
        Ok(())
    }

    /// Sets the upper bound of the limit, in units, from the next completion on.
    ///
    /// # Errors
    /// [`Error::LimitTooLarge`] above [`MAX_LIMIT`](crate::MAX_LIMIT), [`Error::MinAboveMax`]
    /// below the lower bound in force.
    pub fn set_max_limit(&mut self, max_limit: u32) -> Result<(), Error> {
        check_bounds(self.min_limit, max_limit)?;
        self.max_limit = max_limit;
        Ok(())
    }

    /// Sets how long slack is observed before the limit is cut.
    pub fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        self.hold_time_ns = hold_time_ns;
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
    pub(crate) fn snapshot(&self, queued: Queued, adj_limit: u32, epoch: u32) -> Snapshot {
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
            in_flight: positive_difference(queued.num_queued, self.num_completed),
        }
    }
}

/// What is left of `in_flight` after a completion, or why that is refused. One test for both: more
/// than is in flight, and a ledger that is below zero since an object was taken back that was also
/// completed.
#[inline]
fn left_in_flight(in_flight: u32, units: u32) -> Result<u32, Error> {
    let left = in_flight.wrapping_sub(units);
    if (units | left) > MAX_IN_FLIGHT {
        return Err(over_completion(units, in_flight));
    }
    Ok(left)
}

#[cold]
#[inline(never)]
fn over_completion(units: u32, in_flight: u32) -> Error {
    Error::OverCompletion {
        units,
        in_flight: positive_difference(in_flight, 0),
    }
}
