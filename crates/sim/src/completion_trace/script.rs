//! The sender and the interrupts of one queue of a trace.

use std::iter::Copied;
use std::mem::replace;
use std::slice::Iter;
use std::task::Waker;

use taut_path::limit::Limit;
use taut_path::queue::QueueConfigError;
use taut_path::{Event, Probe, Queue, QueueConfig};

use super::detail::Detail;
use super::source::{SATURATED, TraceSource};
use super::{CompletionTrace, Interval, Intervals};
use crate::NEVER_NS;
use crate::nic::RingOf;
use crate::queue::queue_config;
use crate::testbed::{Urgent, WireStats};
use crate::time_series::note_change;

/// Records the changes of a limit.
#[derive(Default)]
pub(super) struct LimitChanges {
    keep: bool,
    pub(super) changes: Vec<(u64, u32)>,
}

impl Probe for LimitChanges {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Limit(limit) = event
            && self.keep
        {
            note_change(&mut self.changes, now_ns, limit);
        }
    }
}

/// One queue of a trace run.
pub(super) type TraceQueue<L> = Queue<RingOf<WireStats>, L, TraceSource, LimitChanges>;

/// Creates a queue of `trace` above `ring`.
pub(super) fn queue<L: Limit>(
    pattern: &CompletionTrace,
    limit: L,
    detail: Detail,
    ring: RingOf<WireStats>,
) -> Result<TraceQueue<L>, QueueConfigError> {
    let config = QueueConfig {
        reap_budget_packets: match pattern.budget {
            0 => u32::MAX,
            budget => budget,
        },
        coalesce_ns: detail.coalesce_ns,
        ..queue_config(None, Waker::noop().clone())
    };
    let changes = LimitChanges {
        keep: detail.time_series,
        changes: Vec::new(),
    };
    let objects = match pattern.bursts.is_empty() {
        true => SATURATED,
        false => 0,
    };
    Queue::builder_for(ring)
        .with_limit(limit)
        .with_qdisc(TraceSource::new(objects, pattern.sizes.clone()))
        .probe(changes)
        .config(config)
        .build(0)
}

/// The sender of one queue, and the interrupts of its device.
pub(super) struct Script<'p> {
    intervals: Copied<Iter<'p, Interval>>,
    pub(super) interrupt_ns: u64,
    /// Return delay of the sender after the next interrupt, and after the last one.
    next_delay_ns: u64,
    pub(super) delay_ns: u64,
    /// Time at which the sender returns, in ns.
    pub(super) back_ns: u64,
    pub(super) urgent: Urgent,
}

impl<'p> Script<'p> {
    pub(super) fn new(pattern: &CompletionTrace, intervals: &'p Intervals) -> Self {
        let mut script = Self {
            intervals: intervals.iter(),
            interrupt_ns: NEVER_NS,
            next_delay_ns: 0,
            delay_ns: 0,
            // A sender with a backlog sends at once.
            back_ns: match pattern.bursts.is_empty() {
                true => 0,
                false => NEVER_NS,
            },
            urgent: Urgent::default(),
        };
        script.plan_interrupt(0);
        script
    }

    pub(super) fn plan_interrupt(&mut self, after_ns: u64) {
        let next = self.intervals.next();
        self.interrupt_ns = next.map_or(NEVER_NS, |it| after_ns.saturating_add(it.gap_ns));
        self.delay_ns = replace(&mut self.next_delay_ns, next.map_or(0, |it| it.delay_ns));
    }
}
