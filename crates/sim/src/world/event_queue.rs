//! The event queue of a host, except for arriving frames and its NIC. Virtual time is in integer
//! nanoseconds; simultaneous events are in order of scheduling.
//!
//! Distant events are stored in buckets. A bucket is sorted when it is due; events that have been
//! postponed by then move to a later bucket unsorted. Near events are in a heap. The resulting
//! order is the same.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::NEVER_NS;

/// Time and number of a scheduling operation: determines the order of two events at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// Time of scheduling, in ns.
    pub since_ns: u64,
    /// Number of earlier scheduling operations on the same host.
    number: u64,
}

/// An event with its sort key.
#[derive(Debug, Clone, Copy)]
struct Scheduled<E> {
    at_ns: u64,
    turn: Turn,
    event: E,
}

impl<E> Scheduled<E> {
    const fn key(&self) -> (u64, u64) {
        (self.at_ns, self.turn.number)
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
/// About 1 s, longer than most timers of TCP; later events are in the heap.
const BUCKETS: u64 = 1 << 10;

/// Distant events, unsorted.
#[derive(Debug)]
struct Later<E> {
    /// An event at time `t` is in bucket `t >> BUCKET_NS_LOG2`, modulo [`BUCKETS`].
    buckets: Vec<Vec<Scheduled<E>>>,
    /// The first bucket that was not yet opened.
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

    /// Returns `true` if an event here might be due by `until_ns`.
    const fn is_due_by(&self, until_ns: u64) -> bool {
        self.events > 0 && self.first << BUCKET_NS_LOG2 <= until_ns
    }

    /// Returns a lower bound of the due times, in ns.
    const fn lower_bound_ns(&self) -> u64 {
        if self.events == 0 {
            NEVER_NS
        } else {
            self.first << BUCKET_NS_LOG2
        }
    }

    /// Stores an event, or returns it if it is too near or too distant.
    fn keep(&mut self, scheduled: Scheduled<E>, now_ns: u64) -> Result<(), Scheduled<E>> {
        if self.events == 0 {
            // Never decreases: all remaining events are later than those taken out.
            self.first = self.first.max((now_ns >> BUCKET_NS_LOG2) + 1);
        }
        let bucket = scheduled.at_ns >> BUCKET_NS_LOG2;
        if !(self.first..self.first + BUCKETS).contains(&bucket) {
            return Err(scheduled);
        }
        self.events += 1;
        self.buckets[(bucket % BUCKETS) as usize].push(scheduled);
        Ok(())
    }

    /// Moves the first non-empty bucket to `into`, which is empty.
    fn take_first(&mut self, into: &mut Vec<Scheduled<E>>) {
        while self.events > 0 && self.buckets[(self.first % BUCKETS) as usize].is_empty() {
            self.first += 1;
        }
        let bucket = &mut self.buckets[(self.first % BUCKETS) as usize];
        self.first += 1;
        self.events -= bucket.len();
        into.append(bucket);
    }
}

/// Location of an event.
#[derive(Debug, Clone, Copy)]
enum Location {
    Bucket,
    Heap,
}

/// Events in order of time; simultaneous events in order of scheduling.
#[derive(Debug)]
pub(super) struct EventQueue<E> {
    next_number: u64,
    /// Lower bound of the due times, in ns.
    lower_bound_ns: u64,
    /// Due time and location of the first near event, if it is known.
    first: Option<(u64, Location)>,
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    /// Events of the last opened bucket, the first at the end.
    bucket: Vec<Scheduled<E>>,
    later: Later<E>,
}

impl<E: Copy> EventQueue<E> {
    /// Creates an empty queue at time 0.
    pub fn new() -> Self {
        Self {
            next_number: 0,
            lower_bound_ns: NEVER_NS,
            first: None,
            heap: BinaryHeap::new(),
            bucket: Vec::new(),
            later: Later::new(),
        }
    }

    /// Returns a lower bound of the due times, in ns; [`NEVER_NS`] if nothing is scheduled.
    #[inline]
    pub const fn lower_bound_ns(&self) -> u64 {
        self.lower_bound_ns
    }

    /// Returns the order of an event that is scheduled elsewhere at `now_ns`.
    #[inline]
    pub fn take_turn(&mut self, now_ns: u64) -> Turn {
        let number = self.next_number;
        self.next_number += 1;
        Turn {
            since_ns: now_ns,
            number,
        }
    }

    /// Schedules `event` at `now_ns` for `at_ns`, or for now if that has passed.
    pub fn schedule(&mut self, now_ns: u64, at_ns: u64, event: E) {
        let scheduled = self.turn(now_ns, at_ns, event);
        if let Err(scheduled) = self.later.keep(scheduled, now_ns) {
            self.heap.push(Reverse(scheduled));
        }
    }

    /// Opens the buckets that are due by `now_ns`. `announce` is called for all events of a bucket
    /// first. `postpone` is then called for each event with its due time and the end of its bucket.
    /// It returns a new due time if the event is postponed; [`NEVER_NS`] cancels it. Both receive
    /// `of`.
    #[inline]
    pub fn open_buckets<T>(
        &mut self,
        now_ns: u64,
        of: &mut T,
        announce: impl Fn(&T, &E),
        postpone: impl Fn(&mut T, &E, u64, u64) -> Option<u64>,
    ) {
        while self.later.is_due_by(now_ns) && self.take_bucket(now_ns) {
            let end_ns = self.later.first << BUCKET_NS_LOG2;
            let mut opened = std::mem::take(&mut self.bucket);
            for scheduled in &opened {
                announce(of, &scheduled.event);
            }
            opened.retain(|scheduled| {
                let to_ns = postpone(of, &scheduled.event, scheduled.at_ns, end_ns);
                if let Some(at_ns) = to_ns.filter(|&at_ns| at_ns != NEVER_NS) {
                    self.schedule(now_ns, at_ns, scheduled.event);
                }
                to_ns.is_none()
            });
            self.bucket = opened;
            self.sort_bucket();
        }
    }

    /// Takes the next event that is due by `until_ns`.
    pub fn next(&mut self, until_ns: u64) -> Option<(u64, E)> {
        let (at_ns, from) = self.first_by(until_ns)?;
        let taken = match from {
            Location::Heap => self.heap.pop().map(|Reverse(event)| event),
            Location::Bucket => self.bucket.pop(),
        };
        self.find_next();
        taken.map(|taken| (at_ns, taken.event))
    }

    /// Returns the order of the first event that is due by `until_ns`.
    pub fn first_turn(&mut self, until_ns: u64) -> Option<Turn> {
        let (_, from) = self.first_by(until_ns)?;
        match from {
            Location::Heap => self.heap.peek().map(|Reverse(event)| event.turn),
            Location::Bucket => self.bucket.last().map(|event| event.turn),
        }
    }

    /// Returns due time and location of the first event by `until_ns`. If there is none, updates
    /// the lower bound.
    fn first_by(&mut self, until_ns: u64) -> Option<(u64, Location)> {
        while self.take_bucket(until_ns) {
            self.sort_bucket();
        }
        let first = self.first.or_else(|| self.find_first());
        let due = first.filter(|&(at_ns, _)| at_ns <= until_ns);
        if due.is_none() {
            self.find_next();
        }
        due
    }

    /// Takes the events of the next bucket if it is due by `until_ns` and the previous bucket is
    /// empty by then.
    fn take_bucket(&mut self, until_ns: u64) -> bool {
        let first = self.first.or_else(|| self.find_first());
        let until_ns = first.map_or(until_ns, |(at_ns, _)| at_ns.min(until_ns));
        let is_due = self.later.is_due_by(until_ns);
        if is_due {
            self.later.take_first(&mut self.bucket);
            self.first = None;
        }
        is_due
    }

    fn sort_bucket(&mut self) {
        self.bucket
            .sort_unstable_by_key(|event| Reverse(event.key()));
    }

    /// Returns due time and location of the first near event.
    fn find_first(&self) -> Option<(u64, Location)> {
        let heap = self
            .heap
            .peek()
            .map(|Reverse(event)| (event, Location::Heap));
        let bucket = self.bucket.last().map(|event| (event, Location::Bucket));
        let all = [bucket, heap].into_iter().flatten();
        all.min_by_key(|(event, _)| event.key())
            .map(|(event, from)| (event.at_ns, from))
    }

    fn find_next(&mut self) {
        self.first = self.find_first();
        let first_ns = self.first.map_or(NEVER_NS, |(at_ns, _)| at_ns);
        self.lower_bound_ns = first_ns.min(self.later.lower_bound_ns());
    }

    fn turn(&mut self, now_ns: u64, at_ns: u64, event: E) -> Scheduled<E> {
        let turn = self.take_turn(now_ns);
        let at_ns = at_ns.max(now_ns);
        self.lower_bound_ns = self.lower_bound_ns.min(at_ns);
        // Simultaneous events are in order of scheduling.
        if self.first.is_some_and(|(first_ns, _)| at_ns < first_ns) {
            self.first = None;
        }
        Scheduled { at_ns, turn, event }
    }
}

#[cfg(test)]
mod tests;
