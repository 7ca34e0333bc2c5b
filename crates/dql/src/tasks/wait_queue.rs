//! Waiting tasks, first come, first served.

use core::fmt;
use core::task::Waker;
use std::collections::BTreeMap;

/// Numbers of urgent places begin at 0, those of normal ones here.
const FIRST_NORMAL: u64 = 1 << 63;

/// Where a task joins a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// At the tail.
    #[default]
    Normal,
    /// Before all normal tasks, after earlier urgent ones.
    Urgent,
}

/// A bounded FIFO of waiting tasks.
///
/// Sans-IO and without a lock: it belongs behind the lock of the resource. The owner of the lock
/// calls the waker that [`wake_next`](Self::wake_next) returns *after* it released the lock.
///
/// A woken task reserves nothing. If it has not been polled when
/// [`pass_unpolled`](Self::pass_unpolled) is called, the next task gets its turn. It keeps its
/// place: when it is polled at last, it is served first.
#[derive(Debug)]
pub struct WaitQueue {
    /// The wakers of the waiting tasks, by the numbers of their places; `None` for a task that was
    /// woken and has not been polled since.
    waiting: BTreeMap<u64, Option<Waker>>,
    /// Tasks that were woken and passed: they have a ticket, and are not in `waiting`.
    passed: usize,
    /// Next number of normal and of urgent places.
    next_numbers: [u64; 2],
    max: usize,
}

/// A place in the queue. Return it with [`WaitQueue::leave`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a place that is not left counts as a waiting task"]
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
            waiting: BTreeMap::new(),
            passed: 0,
            next_numbers: [FIRST_NORMAL, 0],
            max,
        }
    }

    /// Takes the last place of this priority.
    ///
    /// # Errors
    /// [`TooManyWaiters`] if the queue is full.
    pub fn join(&mut self, priority: Priority, waker: &Waker) -> Result<Ticket, TooManyWaiters> {
        if self.len() >= self.max {
            return Err(TooManyWaiters { max: self.max });
        }
        let next = &mut self.next_numbers[priority as usize];
        let number = *next;
        *next += 1;
        self.waiting.insert(number, Some(waker.clone()));
        Ok(Ticket(number))
    }

    /// Returns `true` if only passed tasks are ahead of `ticket`, so its task may be served.
    /// Without a ticket: ahead of a task of this priority that joins now.
    pub fn is_turn(&self, ticket: Option<&Ticket>, priority: Priority) -> bool {
        let number = match (ticket, priority) {
            (Some(ticket), _) => ticket.0,
            (None, Priority::Normal) => u64::MAX,
            (None, Priority::Urgent) => FIRST_NORMAL - 1,
        };
        self.waiting
            .keys()
            .next()
            .is_none_or(|&first| first >= number)
    }

    /// Records that the task of this place was polled and still waits, with this waker.
    pub fn set_waker(&mut self, ticket: &Ticket, waker: &Waker) {
        if let Some(Some(last)) = self.waiting.get_mut(&ticket.0) {
            // Allocates nothing for the same task.
            last.clone_from(waker);
            return;
        }
        let before = self.waiting.insert(ticket.0, Some(waker.clone()));
        if before.is_none() {
            self.passed = self.passed.saturating_sub(1);
        }
    }

    /// Releases the place, served or not. The next task might now be the first: wake it if the
    /// resource is available.
    pub fn leave(&mut self, ticket: Ticket) {
        if self.waiting.remove(&ticket.0).is_none() {
            self.passed = self.passed.saturating_sub(1);
        }
    }

    /// Marks the first task as woken and returns its waker. Call it only if the resource is
    /// available. `None` if no task waits, or if the first was woken already.
    #[must_use = "the task is only marked: call the waker"]
    pub fn wake_next(&mut self) -> Option<Waker> {
        self.waiting.values_mut().next()?.take()
    }

    /// Passes the first task if it was woken and has not been polled since. Call it when the
    /// resource is available, and then [`wake_next`](Self::wake_next).
    pub fn pass_unpolled(&mut self) {
        if self.is_next_woken() {
            self.waiting.pop_first();
            self.passed += 1;
        }
    }

    /// Returns `true` if the first task was woken and has not been polled since.
    pub fn is_next_woken(&self) -> bool {
        self.waiting.values().next().is_some_and(Option::is_none)
    }

    /// Returns the number of waiting tasks, passed ones included.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.passed
    }

    /// Returns `true` if no task waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if every waiting task was woken and passed, or if none waits.
    pub fn all_passed(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn queue(tasks: usize) -> (WaitQueue, Vec<Ticket>) {
        let mut queue = WaitQueue::new(tasks);
        let tickets = (0..tasks)
            .map(|_| queue.join(Priority::Normal, Waker::noop()).unwrap())
            .collect();
        (queue, tickets)
    }

    fn is_turn(queue: &WaitQueue, ticket: &Ticket) -> bool {
        queue.is_turn(Some(ticket), Priority::Normal)
    }

    #[test]
    fn places_are_served_in_order() {
        let (mut queue, mut tickets) = queue(3);
        let full = Err(TooManyWaiters { max: 3 });
        assert_eq!(queue.join(Priority::Normal, Waker::noop()), full);
        assert!(is_turn(&queue, &tickets[0]) && !is_turn(&queue, &tickets[1]));
        queue.leave(tickets.remove(1));
        queue.leave(tickets.remove(0));
        assert!(is_turn(&queue, &tickets[0]));
        assert!(!queue.is_turn(None, Priority::Normal));
        queue.leave(tickets.remove(0));
        assert!(queue.is_empty() && queue.wake_next().is_none());
        assert!(queue.is_turn(None, Priority::Normal));
    }

    #[test]
    fn unpolled_task_passes_its_turn() {
        let (mut queue, tickets) = queue(3);
        assert!(queue.wake_next().is_some() && queue.wake_next().is_none());
        assert!(!is_turn(&queue, &tickets[1]), "the first can be polled now");
        queue.pass_unpolled();
        assert!(queue.wake_next().is_some());
        assert!(is_turn(&queue, &tickets[1]) && is_turn(&queue, &tickets[0]));
        assert_eq!(queue.len(), 3, "it still waits");
    }

    #[test]
    fn passed_task_keeps_its_place() {
        let (mut queue, mut tickets) = queue(3);
        assert!(queue.wake_next().is_some());
        queue.pass_unpolled();
        queue.set_waker(&tickets[0], Waker::noop());
        assert!(is_turn(&queue, &tickets[0]) && !is_turn(&queue, &tickets[1]));
        queue.pass_unpolled();
        assert!(!is_turn(&queue, &tickets[1]), "polled since it was woken");
        queue.leave(tickets.remove(0));
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn dropped_passed_task_leaves() {
        let (mut queue, tickets) = queue(2);
        assert!(queue.wake_next().is_some());
        queue.pass_unpolled();
        assert!(!queue.all_passed());
        tickets.into_iter().for_each(|it| queue.leave(it));
        assert!(queue.is_empty());
    }

    #[test]
    fn urgent_task_precedes_normal_ones() {
        let (mut queue, tickets) = queue(1);
        queue.max = 3;
        assert!(queue.is_turn(None, Priority::Urgent), "none is before it");
        let urgent = queue.join(Priority::Urgent, Waker::noop()).unwrap();
        let later = queue.join(Priority::Urgent, Waker::noop()).unwrap();
        assert!(!queue.is_turn(None, Priority::Urgent));
        assert!(is_turn(&queue, &urgent) && !is_turn(&queue, &later));
        queue.leave(urgent);
        assert!(is_turn(&queue, &later) && !is_turn(&queue, &tickets[0]));
    }
}
