//! The event engine: virtual time in integer nanoseconds, ties in order of scheduling.
//!
//! Most events of a network come from few sources whose times never go back: a wire delivers in
//! order, a NIC has one next event. Those have a *lane* each, where scheduling costs no more than
//! a push to a queue. Everything else (timers) goes through a heap. Both are one order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An event with its place in the order.
#[derive(Debug, Clone, Copy)]
struct Scheduled<E> {
    at_ns: u64,
    /// Number of the event in order of scheduling: decides ties.
    number: u64,
    event: E,
}

impl<E> Scheduled<E> {
    const fn key(&self) -> (u64, u64) {
        (self.at_ns, self.number)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Events in order of time; those of one time in order of scheduling.
#[derive(Debug)]
pub struct Engine<E, const LANES: usize> {
    now_ns: u64,
    next_number: u64,
    processed: u64,
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    lanes: [VecDeque<Scheduled<E>>; LANES],
}

impl<E, const LANES: usize> Engine<E, LANES> {
    /// Nothing scheduled, at time 0.
    pub fn new() -> Self {
        Self {
            now_ns: 0,
            next_number: 0,
            processed: 0,
            heap: BinaryHeap::new(),
            lanes: std::array::from_fn(|_| VecDeque::new()),
        }
    }

    /// The time of the event taken last, in ns.
    pub const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Events taken so far.
    pub const fn processed(&self) -> u64 {
        self.processed
    }

    /// Schedules `event` for `at_ns`, or for now if that has passed.
    pub fn schedule(&mut self, at_ns: u64, event: E) {
        let scheduled = self.number(at_ns, event);
        self.heap.push(Reverse(scheduled));
    }

    /// Schedules `event` in a lane, whose times must not go back: an earlier time counts as that
    /// of the event before it.
    pub fn schedule_in_lane(&mut self, lane: usize, at_ns: u64, event: E) {
        let not_before = self.lanes[lane].back().map_or(0, |last| last.at_ns);
        let scheduled = self.number(at_ns.max(not_before), event);
        self.lanes[lane].push_back(scheduled);
    }

    /// Schedules `event` in a lane if it is not earlier than what is there, else in the heap: for
    /// events that mostly come in order. One far ahead of the others sends them to the heap.
    pub fn schedule_in_lane_or_heap(&mut self, lane: usize, at_ns: u64, event: E) {
        match self.lanes[lane].back() {
            Some(last) if last.at_ns > at_ns => self.schedule(at_ns, event),
            _ => self.schedule_in_lane(lane, at_ns, event),
        }
    }

    /// Replaces all that a lane has scheduled by one `event`: for a source that has one next event
    /// and changes its mind about when.
    pub fn reschedule_lane(&mut self, lane: usize, at_ns: u64, event: E) {
        self.lanes[lane].clear();
        self.schedule_in_lane(lane, at_ns, event);
    }

    /// Whether a lane has nothing scheduled.
    pub fn lane_is_empty(&self, lane: usize) -> bool {
        self.lanes[lane].is_empty()
    }

    /// Takes the next event that is due by `until_ns`, and moves the clock to it.
    pub fn next(&mut self, until_ns: u64) -> Option<(u64, E)> {
        let mut first = self.heap.peek().map(|Reverse(event)| event.key());
        let mut from = None;
        for (lane, events) in self.lanes.iter().enumerate() {
            if let Some(front) = events.front()
                && first.is_none_or(|key| front.key() < key)
            {
                first = Some(front.key());
                from = Some(lane);
            }
        }
        let (at_ns, _) = first.filter(|&(at_ns, _)| at_ns <= until_ns)?;
        let taken = match from {
            Some(lane) => self.lanes[lane].pop_front(),
            None => self.heap.pop().map(|Reverse(event)| event),
        };
        self.now_ns = at_ns;
        self.processed += 1;
        taken.map(|taken| (at_ns, taken.event))
    }

    fn number(&mut self, at_ns: u64, event: E) -> Scheduled<E> {
        let number = self.next_number;
        self.next_number += 1;
        Scheduled {
            at_ns: at_ns.max(self.now_ns),
            number,
            event,
        }
    }
}

impl<E, const LANES: usize> Default for Engine<E, LANES> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_decides_and_then_the_order_of_scheduling_whatever_the_lane() {
        let mut engine = Engine::<char, 2>::new();
        engine.schedule(20, 'd');
        engine.schedule_in_lane(1, 10, 'a');
        engine.schedule(10, 'b');
        engine.schedule_in_lane(0, 10, 'c');
        engine.schedule_in_lane(1, 20, 'e');
        let mut order = String::new();
        while let Some((_, event)) = engine.next(u64::MAX) {
            order.push(event);
        }
        assert_eq!(order, "abcde");
        assert_eq!((engine.now_ns(), engine.processed()), (20, 5));
    }

    #[test]
    fn what_does_not_fit_the_order_of_a_lane_goes_through_the_heap() {
        let mut engine = Engine::<u8, 1>::new();
        for (at_ns, event) in [(5, 1), (9, 2), (7, 3), (9, 4)] {
            engine.schedule_in_lane_or_heap(0, at_ns, event);
        }
        let order: Vec<_> = std::iter::from_fn(|| engine.next(u64::MAX)).collect();
        assert_eq!(order, [(5, 1), (7, 3), (9, 2), (9, 4)]);
    }

    #[test]
    fn a_rescheduled_lane_forgets_what_it_had() {
        let mut engine = Engine::<u8, 1>::new();
        engine.schedule_in_lane(0, 9, 1);
        engine.reschedule_lane(0, 5, 2);
        assert_eq!(engine.next(u64::MAX), Some((5, 2)));
        assert_eq!(engine.next(u64::MAX), None);
    }

    #[test]
    fn nothing_later_than_asked_for_is_taken() {
        let mut engine = Engine::<u8, 1>::new();
        engine.schedule_in_lane(0, 5, 1);
        engine.schedule(6, 2);
        assert_eq!(engine.next(4), None);
        assert_eq!(engine.next(5), Some((5, 1)));
        assert_eq!(engine.next(5), None);
        assert_eq!((engine.now_ns(), engine.lane_is_empty(0)), (5, true));
    }

    #[test]
    fn what_is_scheduled_for_the_past_happens_now() {
        let mut engine = Engine::<u8, 1>::new();
        engine.schedule(9, 1);
        assert_eq!(engine.next(9), Some((9, 1)));
        engine.schedule(3, 2);
        engine.schedule_in_lane(0, 4, 3);
        assert_eq!(engine.next(u64::MAX), Some((9, 2)));
        assert_eq!(engine.next(u64::MAX), Some((9, 3)));
    }
}
