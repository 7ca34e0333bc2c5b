//! The state of the screen.

use std::cmp::Reverse;

use taut_observe::sampler::{History, SampledQueue};
use taut_observe::{QueueKey, QueueRow};

use super::curve::queueing;

/// The sort key of the queues.
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
            Self::Time => "in-flight time",
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

/// The state that keys change, and the latest samples of the queues.
#[derive(Debug, Default)]
pub struct Screen {
    pub sort: Sort,
    pub paused: bool,
    pub in_detail: bool,
    /// Lines of a page.
    pub page: usize,
    /// The first visible line.
    pub first: usize,
    selected: Option<QueueKey>,
    queues: Vec<SampledQueue<History>>,
    /// Samples of the queue in detail.
    pub close: Option<History>,
}

impl Screen {
    /// Stores new samples.
    pub fn update(&mut self, queues: Vec<SampledQueue<History>>, close: Option<History>) {
        (self.queues, self.close) = (queues, close);
        self.order();
    }

    fn order(&mut self) {
        match self.sort {
            // Queues with a known link speed come first: only their time is known.
            Sort::Time => self.queues.sort_by_cached_key(|it| Reverse(queueing(it))),
            Sort::InFlight => self.queues.sort_by_cached_key(|it| Reverse(queueing(it).1)),
            Sort::Limit => self.queues.sort_by_key(|it| Reverse(it.row.limits.limit)),
            Sort::Name => self.queues.sort_by_cached_key(|it| it.row.key()),
        }
    }

    /// Changes the sort key.
    pub fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.order();
    }

    /// Returns the queues in their order.
    pub fn queues(&self) -> &[SampledQueue<History>] {
        &self.queues
    }

    /// Returns the line of the selected queue; the first line if it was removed.
    pub fn line(&self) -> usize {
        let is_selected = |it: &SampledQueue<_>| Some(it.row.key()) == self.selected;
        self.queues.iter().position(is_selected).unwrap_or(0)
    }

    /// Returns the selected queue, which remains the same when the order changes.
    pub fn selected(&self) -> Option<&SampledQueue<History>> {
        self.queues.get(self.line())
    }

    pub fn select(&mut self, line: usize) {
        let last = self.queues.len().saturating_sub(1);
        self.selected = self.queues.get(line.min(last)).map(|it| it.row.key());
    }

    /// Returns the queue in detail.
    pub fn detail(&self) -> Option<&QueueRow> {
        let selected = self.selected().filter(|_| self.in_detail)?;
        Some(&selected.row)
    }
}

#[cfg(test)]
pub mod tests {
    use taut_linux::observe::Sample;

    use taut_observe::sampler::Collector;

    use super::*;

    pub fn queue(device: &str, in_flight: u64) -> SampledQueue<History> {
        let mut history = History::new(100_000_000, 600);
        for at in 0..40 {
            let sample = Sample {
                limit: 40_000,
                in_flight: in_flight + at * 10,
            };
            history.add(at * 50_000_000, sample);
        }
        let mut row = QueueRow {
            device: device.to_owned(),
            rate_bits_per_s: Some(1_000_000_000),
            ..QueueRow::default()
        };
        row.limits.limit = Some(40_000);
        row.limits.in_flight = Some(in_flight);
        SampledQueue {
            row,
            samples: history,
        }
    }

    pub fn with(queues: Vec<SampledQueue<History>>) -> Screen {
        let mut screen = Screen::default();
        screen.update(queues, None);
        screen
    }

    fn names(screen: &Screen) -> Vec<&str> {
        let queues = screen.queues().iter();
        queues.map(|it| it.row.device.as_str()).collect()
    }

    #[test]
    fn selection_survives_sorting() {
        let mut screen = with(vec![queue("a", 10), queue("b", 30), queue("c", 20)]);
        assert_eq!(names(&screen), ["b", "c", "a"]);
        screen.select(1);
        screen.sort_by(Sort::Name);
        assert_eq!(names(&screen), ["a", "b", "c"]);
        assert_eq!(
            (
                screen.line(),
                screen.selected().unwrap().row.device.as_str()
            ),
            (2, "c")
        );
        screen.update(vec![queue("a", 1)], None);
        assert_eq!(screen.line(), 0, "queue removed");
    }

    #[test]
    fn screen_without_queues_has_no_selection() {
        let mut screen = with(Vec::new());
        screen.select(7);
        assert!(screen.selected().is_none() && screen.detail().is_none());
    }
}
