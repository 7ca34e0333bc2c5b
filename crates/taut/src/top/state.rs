//! What is on the screen.

use std::cmp::Reverse;

use super::figures::{name, queueing};
use super::sampler::{Close, Key, Sampler, Watched, key};

/// What the queues are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    #[default]
    Time,
    InFlight,
    Limit,
    Name,
}

impl Sort {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "queueing time",
            Self::InFlight => "in flight",
            Self::Limit => "limit",
            Self::Name => "name",
        }
    }

    pub const fn next(self) -> Self {
        match self {
            Self::Time => Self::InFlight,
            Self::InFlight => Self::Limit,
            Self::Limit => Self::Name,
            Self::Name => Self::Time,
        }
    }
}

/// Everything that keys change, and the queues as they were seen last.
#[derive(Debug, Default)]
pub struct State {
    pub sort: Sort,
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    pub paused: bool,
    pub in_detail: bool,
    /// Lines that a page has.
    pub page: usize,
    /// The first line that is shown.
    pub first: usize,
    chosen: Option<Key>,
    queues: Vec<Watched>,
    pub close: Option<Close>,
}

impl State {
    /// Looks at what was sampled, unless it is paused.
    pub fn take(&mut self, sampler: &Sampler) {
        if !self.paused {
            self.set(sampler.queues(), sampler.close());
        }
    }

    fn set(&mut self, queues: Vec<Watched>, close: Option<Close>) {
        (self.queues, self.close) = (queues, close);
        self.order();
    }

    fn order(&mut self) {
        match self.sort {
            // A queue whose link's speed is known comes first, for its time is.
            Sort::Time => self.queues.sort_by_cached_key(|it| Reverse(queueing(it))),
            Sort::InFlight => self.queues.sort_by_cached_key(|it| Reverse(queueing(it).1)),
            Sort::Limit => self.queues.sort_by_key(|it| Reverse(it.row.limits.limit)),
            Sort::Name => self.queues.sort_by_cached_key(|it| key(&it.row)),
        }
    }

    /// Sorts by something else.
    pub fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.order();
    }

    /// The queues that pass the filter.
    pub fn shown(&self) -> Vec<&Watched> {
        let passes = |it: &&Watched| name(&it.row).contains(&self.filter);
        self.queues.iter().filter(passes).collect()
    }

    pub fn all(&self) -> usize {
        self.queues.len()
    }

    /// The line of the chosen queue: the first one if it is gone.
    pub fn line(&self) -> usize {
        let shown = self.shown();
        let chosen = shown
            .iter()
            .position(|it| Some(key(&it.row)) == self.chosen);
        chosen.unwrap_or(0)
    }

    /// The chosen queue, which stays the same one where the order changes.
    pub fn chosen(&self) -> Option<&Watched> {
        self.shown().get(self.line()).copied()
    }

    pub fn choose(&mut self, line: usize) {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        self.chosen = shown.get(line.min(last)).map(|it| key(&it.row));
    }

    /// The queue in detail.
    pub fn detail(&self) -> Option<Key> {
        let chosen = self.chosen().filter(|_| self.in_detail)?;
        Some(key(&chosen.row))
    }
}

#[cfg(test)]
pub mod tests {
    use taut_linux::observe::Sample;

    use super::super::history::History;
    use super::*;
    use crate::observe::row::Row;

    pub fn queue(device: &str, in_flight: u64) -> Watched {
        let mut history = History::new(100_000_000, 600);
        for at in 0..40 {
            let sample = Sample {
                limit: 40_000,
                in_flight: in_flight + at * 10,
            };
            history.add(at * 50_000_000, sample);
        }
        let mut row = Row {
            device: device.to_owned(),
            rate_bits_per_s: Some(1_000_000_000),
            ..Row::default()
        };
        row.limits.limit = Some(40_000);
        row.limits.in_flight = Some(in_flight);
        Watched { row, history }
    }

    pub fn with(queues: Vec<Watched>) -> State {
        let mut state = State::default();
        state.set(queues, None);
        state
    }

    fn names(state: &State) -> Vec<&str> {
        state
            .shown()
            .iter()
            .map(|it| it.row.device.as_str())
            .collect()
    }

    #[test]
    fn the_queue_that_waits_longest_is_first_and_the_chosen_one_stays_chosen() {
        let mut state = with(vec![queue("a", 10), queue("b", 30), queue("c", 20)]);
        assert_eq!(names(&state), ["b", "c", "a"]);
        state.choose(1);
        state.sort_by(Sort::Name);
        assert_eq!(names(&state), ["a", "b", "c"]);
        assert_eq!(
            (state.line(), state.chosen().unwrap().row.device.as_str()),
            (2, "c")
        );
        state.set(vec![queue("a", 1)], None);
        assert_eq!(state.line(), 0, "it is gone");
    }

    #[test]
    fn a_filter_hides_and_nothing_left_is_no_failure() {
        let mut state = with(vec![queue("eth0", 10), queue("wlan0", 30)]);
        state.filter = "eth".to_owned();
        assert_eq!(names(&state), ["eth0"]);
        state.filter = "x".to_owned();
        state.choose(7);
        assert!(state.chosen().is_none() && state.detail().is_none());
    }
}
