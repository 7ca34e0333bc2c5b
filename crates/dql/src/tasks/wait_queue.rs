//! Waiting tasks, first come, first served.

use core::fmt;
use core::task::Waker;
use std::collections::VecDeque;

/// A bounded FIFO of waiting tasks.
///
/// Sans-IO and without a lock: it belongs behind the lock of the resource. The owner of the lock
/// wakes the [`first`](Self::first) task *after* it released the lock.
#[derive(Debug)]
pub struct WaitQueue {
    waiting: VecDeque<(u64, Waker)>,
    next_number: u64,
    max: usize,
}

/// A place in the queue. Return it with [`WaitQueue::leave`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a place that is not left blocks those behind it"]
pub struct Ticket(u64);

/// The wait queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWaiters {
    /// The capacity, in tasks.
    pub max: usize,
}

impl fmt::Display for TooManyWaiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wait queue full: {} tasks", self.max)
    }
}

impl core::error::Error for TooManyWaiters {}

impl WaitQueue {
    /// An empty queue for at most `max` tasks.
    pub const fn new(max: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            next_number: 0,
            max,
        }
    }

    /// Takes the last place.
    ///
    /// # Errors
    /// [`TooManyWaiters`] if the queue is full.
    pub fn join(&mut self, waker: &Waker) -> Result<Ticket, TooManyWaiters> {
        if self.waiting.len() >= self.max {
            return Err(TooManyWaiters { max: self.max });
        }
        let number = self.next_number;
        self.next_number += 1;
        self.waiting.push_back((number, waker.clone()));
        Ok(Ticket(number))
    }

    /// Replaces the waker of a place.
    pub fn set_waker(&mut self, ticket: &Ticket, waker: &Waker) {
        if let Some(place) = self.place(ticket) {
            self.waiting[place].1.clone_from(waker);
        }
    }

    /// Returns `true` if this place is the first.
    pub fn is_first(&self, ticket: &Ticket) -> bool {
        self.waiting.front().is_some_and(|(it, _)| *it == ticket.0)
    }

    /// Releases the place, served or not. The next task might now be the first: wake it if the
    /// resource is available.
    pub fn leave(&mut self, ticket: Ticket) {
        if let Some(place) = self.place(&ticket) {
            self.waiting.remove(place);
        }
    }

    /// Numbers increase along the queue, so a binary search finds the place.
    fn place(&self, ticket: &Ticket) -> Option<usize> {
        let number = |(it, _): &(u64, Waker)| *it;
        self.waiting.binary_search_by_key(&ticket.0, number).ok()
    }

    /// Returns the waker of the first task.
    pub fn first(&self) -> Option<&Waker> {
        self.waiting.front().map(|(_, waker)| waker)
    }

    /// Returns the number of waiting tasks.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns `true` if no task waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_served_in_order() {
        let waker = Waker::noop();
        let mut turns = WaitQueue::new(3);
        let a = turns.join(waker).unwrap();
        let b = turns.join(waker).unwrap();
        let c = turns.join(waker).unwrap();
        assert_eq!(turns.join(waker), Err(TooManyWaiters { max: 3 }));
        assert!(turns.is_first(&a) && !turns.is_first(&b));
        turns.leave(b);
        turns.leave(a);
        assert!(turns.is_first(&c));
        turns.leave(c);
        assert!(turns.is_empty() && turns.first().is_none());
    }
}
