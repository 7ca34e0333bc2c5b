//! The room of a budget, and the queues that wait for it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use taut_dql::MAX_OBJECT;
use taut_dql::sync::{AtomicU32, Ordering, SingleWriterU64, fence};

use crate::queue::shared::Shared;
use crate::sharing::{Threads, Wide};

/// The maximum of bytes in flight of a budget: half of the range of a rule, because the rule
/// receives completions with a delay.
const MAX_IN_FLIGHT_BYTES: u32 = 1 << 30;

/// The queue does not wait.
const NO_TICKET: u32 = 0;
/// Tickets are odd, so that none is [`NO_TICKET`] when they wrap.
const TICKET_STEP: u32 = 2;

/// The room of a budget and its waiting queues. Totals wrap at 2^32.
#[derive(Default)]
pub(super) struct Waiters {
    /// Total bytes sent.
    queued_bytes: AtomicU32,
    /// Total bytes completed.
    completed_bytes: AtomicU32,
    /// The limit of the bytes in flight together.
    limit_bytes: AtomicU32,
    /// Size of the object that was sent last, which a rule uses for its slack.
    last_object_bytes: AtomicU32,
    /// Batches that the rule received, wrapping.
    batches: AtomicU32,
    /// Times that a sender was blocked by the budget, wrapping.
    times_blocked: AtomicU32,
    /// Queues that wait. While it is 0, a completer does not search the list.
    waiting: AtomicU32,
    last_ticket: AtomicU32,
    pub(super) queues: Box<[BudgetQueue]>,
}

/// The share of one queue.
pub(super) struct BudgetQueue {
    gates: Arc<Shared<Threads>>,
    /// Ticket of a waiting queue, or [`NO_TICKET`]. Written by its sender.
    ticket: AtomicU32,
    /// Written by its sender.
    queued_bytes: AtomicU32,
    /// Time of the first object sent since batch `first_sent_after`. Written by its sender.
    first_sent_ns: SingleWriterU64,
    first_sent_after: AtomicU32,
    /// Written by its completer.
    completed_bytes: AtomicU32,
}

impl BudgetQueue {
    pub(super) fn new(gates: Arc<Shared<Threads>>) -> Self {
        Self {
            gates,
            ticket: AtomicU32::new(NO_TICKET),
            queued_bytes: AtomicU32::new(0),
            first_sent_ns: SingleWriterU64::new(0),
            first_sent_after: AtomicU32::new(u32::MAX),
            completed_bytes: AtomicU32::new(0),
        }
    }

    pub(super) fn in_flight_bytes(&self) -> u32 {
        // Completed first: it never overtakes the total queued.
        let completed = self.completed_bytes.load(Ordering::Acquire);
        difference(self.queued_bytes.load(Ordering::Acquire), completed)
    }

    /// Returns the ticket of a queue that is stopped and waits.
    fn waits_since(&self) -> Option<u32> {
        // The ticket is drawn before the gate is closed, so a closed gate implies a ticket.
        let stopped = self.gates.is_stopped_by_stack();
        let ticket = self.ticket.load(Ordering::Acquire);
        (stopped && ticket != NO_TICKET).then_some(ticket)
    }
}

/// The input of a batch of the rule.
pub(super) struct BudgetTotals {
    pub(super) completed_bytes: u32,
    pub(super) queued_bytes: u32,
    pub(super) last_object_bytes: u32,
    /// Time of the first object since the last batch, if it was recorded.
    pub(super) first_sent_ns: Option<u64>,
    pub(super) times_blocked: u32,
}

impl Waiters {
    pub(super) fn new(queues: Box<[BudgetQueue]>, limit_bytes: u32) -> Self {
        Self {
            limit_bytes: AtomicU32::new(limit_bytes),
            last_ticket: AtomicU32::new(TICKET_STEP - 1),
            queues,
            ..Self::default()
        }
    }

    /// Returns `true` if the budget has room for one more object. All loads are sequentially
    /// consistent: with a stale value, a queue could send more than one object too many.
    fn has_room(&self) -> bool {
        self.in_flight_bytes() <= self.limit_bytes()
    }

    /// For the sender of `queue`: returns `true` if it may send one more object.
    pub(super) fn may_send(&self, queue: usize) -> bool {
        self.queues[queue].in_flight_bytes() == 0 || self.has_room()
    }

    /// For the completer of `queue`, whose own limit has room: returns `true` if the queue can be
    /// woken, because it is the first in line or has nothing in flight.
    pub(super) fn may_start(&self, queue: usize) -> bool {
        let own = &self.queues[queue];
        match own.ticket.load(Ordering::Acquire) {
            NO_TICKET => true,
            _ if own.in_flight_bytes() == 0 => true,
            _ => self.has_room() && self.first_waiting() == Some(queue),
        }
    }

    /// For the sender of `queue`: counts an object.
    pub(super) fn charge(&self, queue: usize, bytes: u32, now_ns: u64) {
        let own = &self.queues[queue];
        // The one object that a queue may always send does not use up its place in line.
        if own.in_flight_bytes() > 0 {
            self.leave(queue);
        }
        add(&own.queued_bytes, bytes);
        self.last_object_bytes.store(bytes, Ordering::Relaxed);
        let batch = self.batches.load(Ordering::Relaxed);
        if own.first_sent_after.load(Ordering::Relaxed) != batch {
            Wide::store(&own.first_sent_ns, now_ns);
            // Release: a thread that reads the batch number sees the time that belongs to it.
            own.first_sent_after.store(batch, Ordering::Release);
        }
        self.queued_bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    /// For the sender of `queue`: uncounts the object that it sent last, which the device refused.
    pub(super) fn uncharge(&self, queue: usize, bytes: u32) {
        // The totals wrap, so adding the negative subtracts.
        add(&self.queues[queue].queued_bytes, bytes.wrapping_neg());
        self.queued_bytes.fetch_sub(bytes, Ordering::SeqCst);
    }

    /// Returns `true` if an object of `bytes` can be counted.
    pub(super) fn can_count(&self, bytes: u32) -> bool {
        let in_flight_bytes = self.in_flight_bytes();
        bytes <= MAX_OBJECT && in_flight_bytes.saturating_add(bytes) < MAX_IN_FLIGHT_BYTES
    }

    /// For the completer of `queue`: counts completed bytes, at most those that it has in flight.
    pub(super) fn complete(&self, queue: usize, bytes: u32) {
        add(&self.queues[queue].completed_bytes, bytes);
        self.completed_bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    pub(super) fn in_flight_bytes(&self) -> u32 {
        // Completed first: it never overtakes the total queued, so the result is too large rather
        // than too small.
        let completed = self.completed_bytes.load(Ordering::SeqCst);
        difference(self.queued_bytes.load(Ordering::SeqCst), completed)
    }

    /// For the sender of `queue`, which found no room: draws a ticket, unless it has one.
    pub(super) fn enter(&self, queue: usize) {
        let own = &self.queues[queue].ticket;
        if own.load(Ordering::Relaxed) == NO_TICKET {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let ticket = self.last_ticket.fetch_add(TICKET_STEP, Ordering::Relaxed);
            own.store(ticket.wrapping_add(TICKET_STEP), Ordering::Release);
        }
    }

    /// For the sender of `queue`: gives up its place in line.
    pub(super) fn leave(&self, queue: usize) {
        let own = &self.queues[queue].ticket;
        if own.load(Ordering::Relaxed) != NO_TICKET {
            own.store(NO_TICKET, Ordering::Release);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Returns the queue that has waited longest.
    fn first_waiting(&self) -> Option<usize> {
        let last = self.last_ticket.load(Ordering::Relaxed);
        let age = |waiter: &BudgetQueue| Some(last.wrapping_sub(waiter.waits_since()?) as i32);
        let waiting = self.queues.iter().enumerate();
        let waiting = waiting.filter_map(|(queue, waiter)| Some((age(waiter)?, queue)));
        // Ages are unique; of equal ones, the first would be taken.
        waiting
            .max_by_key(|&(age, queue)| (age, core::cmp::Reverse(queue)))
            .map(|(_, queue)| queue)
    }

    /// For a thread that released room or sends no more: wakes the queue that has waited longest,
    /// if there is room. The woken queue calls this when it sends no more. Returns the woken queue.
    pub(super) fn wake_next(&self) -> Option<usize> {
        // Pairs with the fence of a sender that closes its gate after it drew a ticket: either this
        // thread sees the ticket, or the sender sees the room.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return None;
        }
        // Each iteration opens a gate, or finds that another thread opened it.
        while self.has_room() {
            let queue = self.first_waiting()?;
            // A queue whose ring is full cannot use the room: continue with the next one.
            if self.queues[queue].gates.start_stack() {
                return Some(queue);
            }
        }
        None
    }

    /// Counts a sender that the budget blocked.
    pub(super) fn note_blocked(&self) {
        self.times_blocked.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the input of the rule's next batch.
    pub(super) fn totals(&self) -> BudgetTotals {
        let completed_bytes = self.completed_bytes.load(Ordering::SeqCst);
        let queued_bytes = self.queued_bytes.load(Ordering::SeqCst);
        // Objects that are sent from here on belong to the next batch.
        let batch = self.batches.fetch_add(1, Ordering::AcqRel);
        let sent = self.queues.iter().filter_map(|queue| {
            let since = queue.first_sent_after.load(Ordering::Acquire);
            (since == batch).then(|| Wide::load(&queue.first_sent_ns))
        });
        BudgetTotals {
            completed_bytes,
            queued_bytes,
            last_object_bytes: self.last_object_bytes.load(Ordering::Relaxed),
            first_sent_ns: sent.min(),
            times_blocked: self.times_blocked.load(Ordering::Relaxed),
        }
    }

    pub(super) fn limit_bytes(&self) -> u32 {
        self.limit_bytes.load(Ordering::SeqCst)
    }

    pub(super) fn set_limit(&self, bytes: u32) {
        self.limit_bytes.store(bytes, Ordering::SeqCst);
    }

    /// Returns how often a queue began to wait, wrapping.
    pub(super) fn waits_begun(&self) -> u32 {
        self.last_ticket.load(Ordering::Relaxed) / TICKET_STEP
    }
}

/// Returns the difference of two wrapping totals. It saturates at 0, because it can be negative
/// while an object is uncounted.
fn difference(more_bytes: u32, fewer_bytes: u32) -> u32 {
    (more_bytes.wrapping_sub(fewer_bytes) as i32).max(0) as u32
}

/// Adds to a total with one writer.
fn add(total: &AtomicU32, bytes: u32) {
    let sum = total.load(Ordering::Relaxed).wrapping_add(bytes);
    total.store(sum, Ordering::Release);
}
