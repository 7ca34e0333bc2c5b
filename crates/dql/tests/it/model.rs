//! The specification in plain integers: totals that never wrap and plain comparisons. It shares
//! only the public types with the product.

use taut_dql::{Config, Error, Snapshot};

const TWO_TO_31: i128 = 1 << 31;
const TWO_TO_32: i128 = 1 << 32;
const MAX_OBJECT: i128 = 268_435_455;
const MAX_LIMIT: i128 = 1_879_048_192;

#[derive(Clone, Debug)]
pub struct Model {
    pub limit: i128,
    pub adj_limit: i128,
    pub total_queued: i128,
    pub total_completed: i128,
    pub prev_total_queued: i128,
    pub prev_over_limit: i128,
    pub prev_last_object: i128,
    pub last_object: i128,
    pub lowest_slack: Option<i128>,
    pub window_start_ns: i128,
    pub min_limit: i128,
    pub max_limit: i128,
    pub hold_time_ns: i128,
    pub epoch: u32,
}

impl Model {
    pub fn new(config: Config, now_ns: u64) -> Model {
        Model {
            limit: config.limit.into(),
            adj_limit: config.limit.into(),
            total_queued: 0,
            total_completed: 0,
            prev_total_queued: 0,
            prev_over_limit: 0,
            prev_last_object: 0,
            last_object: 0,
            lowest_slack: None,
            window_start_ns: now_ns.into(),
            min_limit: config.min_limit.into(),
            max_limit: config.max_limit.into(),
            hold_time_ns: config.hold_time_ns.into(),
            epoch: 0,
        }
    }

    pub fn in_flight(&self) -> i128 {
        self.total_queued - self.total_completed
    }

    pub fn room(&self) -> i128 {
        self.adj_limit - self.total_queued
    }

    pub fn queued(&mut self, units: u32) -> Result<(), Error> {
        let size = i128::from(units);
        if size > MAX_OBJECT {
            return Err(Error::ObjectTooLarge { units });
        }
        if self.in_flight() + size >= TWO_TO_31 {
            return Err(Error::TooMuchInFlight {
                units,
                in_flight: self.in_flight() as u32,
            });
        }
        self.total_queued += size;
        self.last_object = size;
        Ok(())
    }

    pub fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        let (n, now) = (i128::from(units), i128::from(now_ns));
        if n > self.in_flight() {
            return Err(Error::OverCompletion {
                units,
                in_flight: self.in_flight() as u32,
            });
        }
        let limit_before = self.limit;
        let over = (self.in_flight() - self.limit).max(0);
        let done = self.total_completed + n;
        let left = self.total_queued - done;
        let prev_left = self.prev_total_queued - self.total_completed;
        let all_prev_done = done >= self.prev_total_queued;

        let starved_now = over > 0 && left == 0;
        let starved_before = self.prev_over_limit > 0 && all_prev_done;
        if starved_now || starved_before {
            let growth = (done - self.prev_total_queued).max(0) + self.prev_over_limit;
            // A u32: only an explicitly set limit between two completions can make it wrap.
            self.limit = (self.limit + growth) % TWO_TO_32;
            self.restart_window(now);
        } else if left > 0 && prev_left > 0 && !all_prev_done {
            self.sample(n, now);
        }
        if self.limit > self.max_limit {
            self.limit = self.max_limit;
        } else if self.limit < self.min_limit {
            self.limit = self.min_limit;
        }
        self.prev_over_limit = if self.limit == limit_before { over } else { 0 };
        self.prev_last_object = self.last_object;
        self.prev_total_queued = self.total_queued;
        self.total_completed = done;
        self.adj_limit = self.limit + done;
        Ok(())
    }

    pub fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        let size = i128::from(units);
        if size != self.last_object {
            return Err(Error::NotQueuedLast {
                units,
                last_object: self.last_object as u32,
            });
        }
        if size > self.in_flight() {
            return Err(Error::AlreadyCompleted {
                units,
                in_flight: self.in_flight() as u32,
            });
        }
        self.total_queued -= size;
        self.last_object = 0;
        Ok(())
    }

    pub fn observe_in_flight(&mut self, observed: u32, now_ns: u64) -> Result<u32, Error> {
        let done = self.in_flight() - i128::from(observed);
        if done < 0 {
            return Err(Error::ObservedAboveInFlight {
                observed,
                in_flight: self.in_flight() as u32,
            });
        }
        if done > 0 {
            self.completed(done as u32, now_ns)?;
        }
        Ok(done as u32)
    }

    pub fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        let real = i128::from(in_flight);
        if real >= TWO_TO_31 {
            return Err(Error::RepairTooLarge { in_flight });
        }
        let too_much = self.in_flight() - real;
        if too_much < 0 {
            self.total_queued -= too_much;
        } else {
            self.total_completed += too_much;
        }
        self.last_object = 0;
        self.adj_limit = self.limit + self.total_completed;
        self.prev_total_queued = self.total_queued;
        (self.prev_over_limit, self.prev_last_object) = (0, 0);
        self.restart_window(now_ns.into());
        Ok(too_much as i64)
    }

    fn sample(&mut self, n: i128, now: i128) {
        let mut slack = positive_as_i32(self.limit + self.prev_over_limit - 2 * n);
        if self.prev_over_limit > 0 {
            slack = slack.max(positive_as_i32(
                self.prev_last_object - self.prev_over_limit,
            ));
        }
        let lowest = self.lowest_slack.map_or(slack, |lowest| lowest.min(slack));
        self.lowest_slack = Some(lowest);
        if now > self.window_start_ns + self.hold_time_ns {
            self.limit = positive_as_i32(self.limit - lowest);
            self.restart_window(now);
        }
    }

    fn restart_window(&mut self, now: i128) {
        self.window_start_ns = now;
        self.lowest_slack = None;
    }

    pub fn reset(&mut self, now_ns: u64) {
        let config = Config {
            limit: self.min_limit as u32,
            min_limit: self.min_limit as u32,
            max_limit: self.max_limit as u32,
            hold_time_ns: self.hold_time_ns as u64,
        };
        *self = Model {
            epoch: self.epoch.wrapping_add(1),
            ..Model::new(config, now_ns)
        };
    }

    pub fn set_limit(&mut self, limit: u32) -> Result<(), Error> {
        if i128::from(limit) > MAX_LIMIT {
            return Err(Error::LimitTooLarge { limit });
        }
        self.limit = limit.into();
        Ok(())
    }

    pub fn set_bounds(&mut self, min_limit: u32, max_limit: u32) -> Result<(), Error> {
        if let Some(limit) = [min_limit, max_limit]
            .into_iter()
            .find(|&l| i128::from(l) > MAX_LIMIT)
        {
            return Err(Error::LimitTooLarge { limit });
        }
        if min_limit > max_limit {
            return Err(Error::MinAboveMax {
                min_limit,
                max_limit,
            });
        }
        (self.min_limit, self.max_limit) = (min_limit.into(), max_limit.into());
        Ok(())
    }

    pub fn set_min_limit(&mut self, min_limit: u32) -> Result<(), Error> {
        self.set_bounds(min_limit, self.max_limit as u32)
    }

    pub fn set_max_limit(&mut self, max_limit: u32) -> Result<(), Error> {
        self.set_bounds(self.min_limit as u32, max_limit)
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            limit: wrapped(self.limit),
            adj_limit: wrapped(self.adj_limit),
            num_queued: wrapped(self.total_queued),
            num_completed: wrapped(self.total_completed),
            room: i32::try_from(self.room()).expect("a room that an i32 can hold"),
            window_start_ns: self.window_start_ns as u64,
            lowest_slack: self.lowest_slack.map_or(u32::MAX, wrapped),
            prev_over_limit: wrapped(self.prev_over_limit),
            prev_num_queued: wrapped(self.prev_total_queued),
            prev_last_object: wrapped(self.prev_last_object),
            last_object: wrapped(self.last_object),
            min_limit: wrapped(self.min_limit),
            max_limit: wrapped(self.max_limit),
            hold_time_ns: self.hold_time_ns as u64,
            epoch: self.epoch,
            in_flight: wrapped(self.in_flight()),
        }
    }
}

fn wrapped(total: i128) -> u32 {
    total.rem_euclid(TWO_TO_32) as u32
}

/// Returns the difference if it is positive as an `i32`, else 0: the specification's `pos`, which
/// is also defined for amounts further apart than 2^31.
fn positive_as_i32(difference: i128) -> i128 {
    let read = (difference + TWO_TO_31).rem_euclid(TWO_TO_32) - TWO_TO_31;
    read.max(0)
}
