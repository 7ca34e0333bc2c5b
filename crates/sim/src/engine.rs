//! The event engine: virtual time in integer nanoseconds, ties in order of scheduling.
//!
//! Most events of a network come from few sources whose times never go back: a wire delivers in
//! order, a NIC has one next event. Those have a *lane* each, where scheduling costs no more than
//! a push to a queue. Everything else (timers) goes through a heap, and what is far ahead waits for
//! that in buckets, which need no order: the heap stays small. All are one order.

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

/// A bucket holds the events of 2^20 ns (about 1 ms): of 10,000 timers of 0.2 s, about 50.
const BUCKET_NS_LOG2: u32 = 20;
/// About 1 s, longer than most timers of TCP; what is later is in the heap.
const BUCKETS: u64 = 1 << 10;

/// Events far ahead, in no order.
#[derive(Debug)]
struct Later<E> {
    /// That of time `t` is number `t >> BUCKET_NS_LOG2`, modulo [`BUCKETS`].
    buckets: Vec<Vec<Scheduled<E>>>,
    /// The first bucket that was not emptied.
    first: u64,
    events: usize,
}

impl<E> Later<E> {
    fn new() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| Vec::new()).collect(),
            first: 1,
            events: 0,
        }
    }

    /// Whether an event here may be due by `until_ns`.
    const fn is_due_by(&self, until_ns: u64) -> bool {
        self.events > 0 && self.first << BUCKET_NS_LOG2 <= until_ns
    }

    /// Keeps an event, or gives it back if it is too near or too far.
    fn keep(&mut self, scheduled: Scheduled<E>, now_ns: u64) -> Result<(), Scheduled<E>> {
        if self.events == 0 {
            self.first = (now_ns >> BUCKET_NS_LOG2) + 1;
        }
        let bucket = scheduled.at_ns >> BUCKET_NS_LOG2;
        if !(self.first..self.first + BUCKETS).contains(&bucket) {
            return Err(scheduled);
        }
        self.events += 1;
        self.buckets[(bucket % BUCKETS) as usize].push(scheduled);
        Ok(())
    }

    /// Empties the first bucket that has events.
    fn take_first(&mut self) -> impl Iterator<Item = Scheduled<E>> {
        while self.events > 0 && self.buckets[(self.first % BUCKETS) as usize].is_empty() {
            self.first += 1;
        }
        let bucket = &mut self.buckets[(self.first % BUCKETS) as usize];
        self.first += 1;
        self.events -= bucket.len();
        bucket.drain(..)
    }
}

/// Events in order of time; those of one time in order of scheduling.
#[derive(Debug)]
pub struct Engine<E, const LANES: usize> {
    now_ns: u64,
    next_number: u64,
    processed: u64,
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    later: Later<E>,
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
            later: Later::new(),
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
        if let Err(scheduled) = self.later.keep(scheduled, self.now_ns) {
            self.heap.push(Reverse(scheduled));
        }
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
        let mut first = self.first();
        while self
            .later
            .is_due_by(first.map_or(until_ns, |(at_ns, _)| at_ns.min(until_ns)))
        {
            self.heap.extend(self.later.take_first().map(Reverse));
            first = self.first();
        }
        let (at_ns, from) = first.filter(|&(at_ns, _)| at_ns <= until_ns)?;
        let taken = match from {
            Some(lane) => self.lanes[lane].pop_front(),
            None => self.heap.pop().map(|Reverse(event)| event),
        };
        self.now_ns = at_ns;
        self.processed += 1;
        taken.map(|taken| (at_ns, taken.event))
    }

    /// When the first event is due, apart from those far ahead, and in which lane it is, if in one.
    fn first(&self) -> Option<(u64, Option<usize>)> {
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
        first.map(|(at_ns, _)| (at_ns, from))
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
    fn however_far_ahead_an_event_is_its_time_and_number_decide() {
        let mut engine = Engine::<u64, 1>::new();
        let mut due = Vec::new();
        let mut taken = Vec::new();
        // From one nanosecond to some minutes ahead, many of them at the same time.
        let mut random = 1_u64;
        for number in 0..20_000_u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let ahead_ns = (random >> 40 & 0xff) << (random >> 59);
            let at_ns = engine.now_ns() + ahead_ns;
            due.push((at_ns, number));
            if number % 5 == 0 {
                engine.schedule_in_lane_or_heap(0, at_ns, number);
            } else {
                engine.schedule(at_ns, number);
            }
            if number % 3 == 0 {
                taken.extend(engine.next(engine.now_ns() + (1 << 20)));
            }
        }
        taken.extend(std::iter::from_fn(|| engine.next(u64::MAX)));
        due.sort_unstable();
        assert_eq!(taken, due);
        assert_eq!(engine.processed(), 20_000);
    }

    #[test]
    fn an_event_at_the_very_start_of_a_bucket_is_due_then() {
        let start_ns = 1 << BUCKET_NS_LOG2;
        let mut engine = Engine::<u8, 1>::new();
        engine.schedule(start_ns, 1);
        engine.schedule_in_lane(0, start_ns, 2);
        assert_eq!(engine.next(start_ns - 1), None);
        assert_eq!(engine.next(start_ns), Some((start_ns, 1)));
        assert_eq!(engine.next(start_ns), Some((start_ns, 2)));
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
