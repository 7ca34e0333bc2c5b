//! The event queue of a host, except for arriving frames and its NIC. Virtual time is in integer
//! nanoseconds; simultaneous events are in order of scheduling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::NEVER_NS;

/// An event of a host other than the arrival and the sending of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostEvent {
    /// A timer of an endpoint may be due.
    Timer(u32),
    /// An application starts, or continues after a pause.
    App(u32),
    /// The deferred list of the small queues is run.
    Deferred,
    /// An application unlocks its socket.
    Unlock(u32),
}

/// Time and number of a scheduling operation: determines the order of two events at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// Time of scheduling, in ns.
    pub since_ns: u64,
    /// Number of earlier scheduling operations on the same host.
    number: u64,
}

/// An event, ordered by its time and its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Scheduled<E> {
    at_ns: u64,
    turn: Turn,
    event: E,
}

/// Events in order of time; simultaneous events in order of scheduling.
#[derive(Debug)]
pub(super) struct EventQueue<E> {
    next_number: u64,
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
}

impl<E: Copy + Ord> EventQueue<E> {
    /// Creates an empty queue at time 0.
    pub fn new() -> Self {
        Self {
            next_number: 0,
            heap: BinaryHeap::new(),
        }
    }

    /// Returns the due time of the first event, in ns; [`NEVER_NS`] if nothing is scheduled.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.first().map_or(NEVER_NS, |first| first.at_ns)
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
        let (at_ns, turn) = (at_ns.max(now_ns), self.take_turn(now_ns));
        self.heap.push(Reverse(Scheduled { at_ns, turn, event }));
    }

    /// Takes the next event that is due by `until_ns`.
    pub fn next(&mut self, until_ns: u64) -> Option<(u64, E)> {
        let Scheduled { at_ns, event, .. } = *self.first().filter(|it| it.at_ns <= until_ns)?;
        self.heap.pop();
        Some((at_ns, event))
    }

    /// Returns the order of the first event that is due by `until_ns`.
    pub fn first_turn(&self, until_ns: u64) -> Option<Turn> {
        let first = self.first().filter(|it| it.at_ns <= until_ns)?;
        Some(first.turn)
    }

    #[inline]
    fn first(&self) -> Option<&Scheduled<E>> {
        self.heap.peek().map(|Reverse(first)| first)
    }
}

#[cfg(test)]
mod tests;
