//! One queue of a pattern, and when it does what.

use std::mem::replace;
use std::task::Waker;

use taut_path::limit::Limit;
use taut_path::{Event, Probe, Queue, QueueConfig};

use super::book::Book;
use super::detail::Detail;
use super::source::{Source, Waiting};
use super::{Interval, Pattern};
use crate::NEVER_NS;
use crate::course::note_change;
use crate::error::TestbedError;
use crate::nic::RingOf;
use crate::queue::queue_config;

/// Keeps the changes of a limit.
#[derive(Default)]
pub(super) struct Course {
    keep: bool,
    pub(super) changes: Vec<(u64, u32)>,
}

impl Probe for Course {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Limit(limit) = event
            && self.keep
        {
            note_change(&mut self.changes, now_ns, limit);
        }
    }
}

/// One queue, and when it does what.
pub(super) struct Line<L, I> {
    pub(super) queue: Queue<RingOf<Book>, L, Source, Course>,
    pub(super) waiting: Waiting,
    intervals: I,
    pub(super) interrupt_ns: u64,
    /// How late the sender comes back after the interrupt that is next, and after the last.
    next_delay_ns: u64,
    pub(super) delay_ns: u64,
    pub(super) poll_ns: u64,
    pub(super) back_ns: u64,
    /// Packets of high priority that wait for room: when each came.
    pub(super) urgent_ns: Vec<u64>,
}

impl<L: Limit, I: Iterator<Item = Interval>> Line<L, I> {
    pub(super) fn new(
        pattern: &Pattern,
        limit: L,
        detail: Detail,
        ring: RingOf<Book>,
        intervals: I,
    ) -> Result<Self, TestbedError> {
        let waiting = if pattern.bursts.is_empty() {
            Waiting::always()
        } else {
            Waiting::nothing()
        };
        let budget = match pattern.budget {
            0 => u32::MAX,
            budget => budget,
        };
        let config = QueueConfig {
            reap_budget_packets: budget,
            cadence_ns: detail.cadence_ns,
            ..queue_config(None, Waker::noop().clone())
        };
        let course = Course {
            keep: detail.course,
            changes: Vec::new(),
        };
        let queue = Queue::builder_for(ring)
            .with_limit(limit)
            .with_qdisc(Source::new(waiting.clone(), pattern.sizes.clone()))
            .probe(course)
            .config(config)
            .build(0)?;
        let mut line = Self {
            queue,
            waiting,
            intervals,
            interrupt_ns: NEVER_NS,
            next_delay_ns: 0,
            delay_ns: 0,
            poll_ns: NEVER_NS,
            // A sender that has something to send does so at once.
            back_ns: if pattern.bursts.is_empty() {
                0
            } else {
                NEVER_NS
            },
            urgent_ns: Vec::new(),
        };
        line.plan_interrupt(0);
        Ok(line)
    }

    pub(super) fn plan_interrupt(&mut self, after_ns: u64) {
        let next = self.intervals.next();
        self.interrupt_ns = next.map_or(NEVER_NS, |it| after_ns.saturating_add(it.gap_ns));
        self.delay_ns = replace(&mut self.next_delay_ns, next.map_or(0, |it| it.delay_ns));
    }

    /// The limit's own timer.
    pub(super) fn tick_ns(&self) -> u64 {
        self.queue.next_wakeup().unwrap_or(NEVER_NS)
    }

    pub(super) fn next_ns(&self) -> u64 {
        let rare_ns = self.tick_ns().min(self.back_ns);
        self.interrupt_ns.min(self.poll_ns).min(rare_ns)
    }
}
