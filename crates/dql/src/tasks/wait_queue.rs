//! Tasks that wait, first come first served.

use core::fmt;
use core::task::Waker;
use std::collections::VecDeque;

/// Tasks that wait for one thing, in the order in which they came. Bounded.
///
/// Sans-IO and without a lock: it belongs behind the lock of what is waited for, and whoever holds
/// that wakes the [`first`](Self::first) *after* letting go of it.
#[derive(Debug)]
pub struct WaitQueue {
    waiting: VecDeque<(u64, Waker)>,
    next_number: u64,
    max: usize,
}

/// A place among those who wait. Given back with [`WaitQueue::leave`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a place that is not left holds up those behind it"]
pub struct Ticket(u64);

/// As many wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWaiters {
    /// How many may.
    pub max: usize,
}

impl fmt::Display for TooManyWaiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks wait already, which is the max", self.max)
    }
}

impl core::error::Error for TooManyWaiters {}

impl WaitQueue {
    /// Nobody waits, and at max `max` may.
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
    /// When as many wait as may.
    pub fn join(&mut self, waker: &Waker) -> Result<Ticket, TooManyWaiters> {
        if self.waiting.len() >= self.max {
            return Err(TooManyWaiters { max: self.max });
        }
        let number = self.next_number;
        self.next_number += 1;
        self.waiting.push_back((number, waker.clone()));
        Ok(Ticket(number))
    }

    /// Says how to wake whoever holds this place: the latest waker counts.
    pub fn set_waker(&mut self, ticket: &Ticket, waker: &Waker) {
        if let Some(place) = self.place(ticket) {
            self.waiting[place].1.clone_from(waker);
        }
    }

    /// Whether it is this one's turn.
    pub fn is_first(&self, ticket: &Ticket) -> bool {
        self.waiting.front().is_some_and(|(it, _)| *it == ticket.0)
    }

    /// Gives the place up: served, or not interested any more. Whoever was behind it may be the
    /// first now, and must be woken if there is what it waits for.
    pub fn leave(&mut self, ticket: Ticket) {
        if let Some(place) = self.place(&ticket) {
            self.waiting.remove(place);
        }
    }

    /// Numbers only rise along the row.
    fn place(&self, ticket: &Ticket) -> Option<usize> {
        let number = |(it, _): &(u64, Waker)| *it;
        self.waiting.binary_search_by_key(&ticket.0, number).ok()
    }

    /// The waker of whoever is next.
    pub fn first(&self) -> Option<&Waker> {
        self.waiting.front().map(|(_, waker)| waker)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_come_first_served_and_a_leaver_passes_the_turn_on() {
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
