//! What one host will do besides taking in frames and sending them: virtual time in integer
//! nanoseconds, ties in order of scheduling.
//!
//! What is far ahead waits in buckets, each of which is sorted when it is due; what has moved on by
//! then goes to a later one, unsorted. What is near goes through a heap. All are one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::NEVER_NS;

/// When something was scheduled: decides which of two events of one time is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// When, in ns.
    pub since_ns: u64,
    /// How much was scheduled at the same host before.
    number: u64,
}

/// An event with its place in the order.
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

    /// Nothing here is due before this, in ns.
    const fn not_before_ns(&self) -> u64 {
        if self.events == 0 {
            NEVER_NS
        } else {
            self.first << BUCKET_NS_LOG2
        }
    }

    /// Keeps an event, or gives it back if it is too near or too far.
    fn keep(&mut self, scheduled: Scheduled<E>, now_ns: u64) -> Result<(), Scheduled<E>> {
        if self.events == 0 {
            // Never back: what was taken out is earlier than all that is here.
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

    /// Empties the first bucket that has events into `into`, which is empty.
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

/// Where an event is.
#[derive(Debug, Clone, Copy)]
enum From {
    Bucket,
    Heap,
}

/// Events in order of time; those of one time in order of scheduling.
#[derive(Debug)]
pub(super) struct EventQueue<E> {
    next_number: u64,
    /// Nothing is due before this.
    not_before_ns: u64,
    /// What is first apart from what is far ahead, and when it is due, while that is known.
    first: Option<(u64, From)>,
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    /// What was taken out of the last bucket, the first at the end.
    bucket: Vec<Scheduled<E>>,
    later: Later<E>,
}

impl<E: Copy> EventQueue<E> {
    /// Nothing scheduled, at time 0.
    pub fn new() -> Self {
        Self {
            next_number: 0,
            not_before_ns: NEVER_NS,
            first: None,
            heap: BinaryHeap::new(),
            bucket: Vec::new(),
            later: Later::new(),
        }
    }

    /// Nothing is due before this, in ns; [`NEVER_NS`] if nothing is scheduled.
    #[inline]
    pub const fn not_before_ns(&self) -> u64 {
        self.not_before_ns
    }

    /// The turn of something that is scheduled at `now_ns` elsewhere.
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

    /// Opens the buckets that are due by `now_ns`. `move_on` hears of each event in them, when it
    /// is due and when its bucket ends, and says when it is due instead, if that is later:
    /// [`NEVER_NS`] for never. `announce` hears of all of a bucket before. Both are told `of`.
    #[inline]
    pub fn open_buckets<T>(
        &mut self,
        now_ns: u64,
        of: &mut T,
        announce: impl Fn(&T, &E),
        move_on: impl Fn(&mut T, &E, u64, u64) -> Option<u64>,
    ) {
        while self.later.is_due_by(now_ns) && self.take_bucket(now_ns) {
            let end_ns = self.later.first << BUCKET_NS_LOG2;
            let mut opened = std::mem::take(&mut self.bucket);
            for scheduled in &opened {
                announce(of, &scheduled.event);
            }
            opened.retain(|scheduled| {
                let to_ns = move_on(of, &scheduled.event, scheduled.at_ns, end_ns);
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
            From::Heap => self.heap.pop().map(|Reverse(event)| event),
            From::Bucket => self.bucket.pop(),
        };
        self.find_next();
        taken.map(|taken| (at_ns, taken.event))
    }

    /// The turn of what is due first by `until_ns`.
    pub fn first_turn(&mut self, until_ns: u64) -> Option<Turn> {
        let (_, from) = self.first_by(until_ns)?;
        match from {
            From::Heap => self.heap.peek().map(|Reverse(event)| event.turn),
            From::Bucket => self.bucket.last().map(|event| event.turn),
        }
    }

    /// When the first event by `until_ns` is due, and where it is. With none, finds out when to
    /// look again.
    fn first_by(&mut self, until_ns: u64) -> Option<(u64, From)> {
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

    /// Takes the events of the next bucket, if it is due by `until_ns`: if all of the one before
    /// was taken, too.
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

    /// When the first event is due, apart from those far ahead, and where it is.
    fn find_first(&self) -> Option<(u64, From)> {
        let heap = self.heap.peek().map(|Reverse(event)| (event, From::Heap));
        let bucket = self.bucket.last().map(|event| (event, From::Bucket));
        let all = [bucket, heap].into_iter().flatten();
        all.min_by_key(|(event, _)| event.key())
            .map(|(event, from)| (event.at_ns, from))
    }

    fn find_next(&mut self) {
        self.first = self.find_first();
        let first_ns = self.first.map_or(NEVER_NS, |(at_ns, _)| at_ns);
        self.not_before_ns = first_ns.min(self.later.not_before_ns());
    }

    fn turn(&mut self, now_ns: u64, at_ns: u64, event: E) -> Scheduled<E> {
        let turn = self.take_turn(now_ns);
        let at_ns = at_ns.max(now_ns);
        self.not_before_ns = self.not_before_ns.min(at_ns);
        // At the same time, what was scheduled before is first.
        if self.first.is_some_and(|(first_ns, _)| at_ns < first_ns) {
            self.first = None;
        }
        Scheduled { at_ns, turn, event }
    }
}

#[cfg(test)]
mod tests;
