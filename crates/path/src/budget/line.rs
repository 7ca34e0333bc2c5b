//! The room of a budget, and the queues that wait for it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use taut_dql::sync::{AtomicU32, AtomicU64, Ordering, fence};
use taut_dql::{Error, MAX_OBJECT};

use crate::queue::Shared;

/// The most that a budget counts in flight, in bytes: half of what a rule can count, which hears of
/// completions late.
const MAX_IN_FLIGHT_BYTES: u64 = 1 << 30;

/// No object went since the rule was last told.
const NOTHING_SENT: u64 = u64::MAX;

/// Not in line.
const NO_TICKET: u64 = 0;

/// The room of all, and who waits for it.
pub(super) struct Line {
    /// All that was ever sent, in bytes. 64 bits do not wrap.
    queued_bytes: AtomicU64,
    /// All that ever came back.
    completed_bytes: AtomicU64,
    /// What may be in flight together.
    limit_bytes: AtomicU32,
    /// Size of the object that was sent last: what a rule takes for its slack.
    last_object_bytes: AtomicU32,
    /// When the first object went since the rule was last told, or [`NOTHING_SENT`].
    first_sent_ns: AtomicU64,
    /// Something waited for the budget since the rule was last told.
    refused: AtomicU32,
    /// Queues in line, so that nobody looks through an empty one.
    waiting: AtomicU32,
    last_ticket: AtomicU64,
    starts: AtomicU64,
    pub(super) seats: Box<[Seat]>,
    /// For the model check only: a version whose queues do not look again is broken, and the check
    /// must catch it.
    #[cfg(loom)]
    pub(super) looks_again: bool,
}

/// One queue's place.
pub(super) struct Seat {
    gates: Arc<Shared>,
    /// When it got in line, or [`NO_TICKET`]. Written by its sender, and by a reset.
    ticket: AtomicU64,
    /// Written by its sender.
    queued_bytes: AtomicU64,
    /// Written by its completer.
    completed_bytes: AtomicU64,
}

impl Seat {
    pub(super) fn new(gates: Arc<Shared>) -> Self {
        Self {
            gates,
            ticket: AtomicU64::new(NO_TICKET),
            queued_bytes: AtomicU64::new(0),
            completed_bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn in_flight_bytes(&self) -> u64 {
        // Completed first: it never overtakes what was queued.
        let completed = self.completed_bytes.load(Ordering::Acquire);
        self.queued_bytes.load(Ordering::Acquire) - completed
    }

    /// The ticket of a queue that is stopped and in line.
    fn waits_since(&self) -> Option<u64> {
        // The gate was closed after the ticket was drawn.
        let stopped = self.gates.is_stopped_by_stack();
        let ticket = self.ticket.load(Ordering::Acquire);
        (stopped && ticket != NO_TICKET).then_some(ticket)
    }
}

/// What a rule is told.
pub(super) struct Totals {
    pub(super) completed_bytes: u64,
    pub(super) queued_bytes: u64,
    pub(super) last_object_bytes: u32,
    pub(super) first_sent_ns: u64,
    pub(super) refused: bool,
}

impl Line {
    pub(super) fn new(seats: Box<[Seat]>, limit_bytes: u32) -> Self {
        Self {
            queued_bytes: AtomicU64::new(0),
            completed_bytes: AtomicU64::new(0),
            limit_bytes: AtomicU32::new(limit_bytes),
            last_object_bytes: AtomicU32::new(0),
            first_sent_ns: AtomicU64::new(NOTHING_SENT),
            refused: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            last_ticket: AtomicU64::new(NO_TICKET),
            starts: AtomicU64::new(0),
            seats,
            #[cfg(loom)]
            looks_again: true,
        }
    }

    /// Whether the budget has room for one more object. Sequentially consistent, as is what it
    /// reads: with a stale value, a queue could send more than one object too many.
    fn has_room(&self) -> bool {
        self.in_flight_bytes() <= self.limit_bytes().into()
    }

    /// For the sender of `seat`: whether it may send one more object.
    pub(super) fn may_send(&self, seat: usize) -> bool {
        self.looks(seat) && (self.seats[seat].in_flight_bytes() == 0 || self.has_room())
    }

    /// Whether the sender of `seat` looks for room: always, but in the version for the model check,
    /// once its gate is closed.
    #[cfg(loom)]
    pub(super) fn looks(&self, seat: usize) -> bool {
        self.looks_again || !self.seats[seat].gates.is_stopped_by_stack()
    }

    /// Always.
    #[cfg(not(loom))]
    pub(super) const fn looks(&self, _seat: usize) -> bool {
        true
    }

    /// For the completer of `seat`, whose own limit has room: whether its queue can be started, it
    /// being its turn or it having nothing in flight.
    pub(super) fn may_start(&self, seat: usize) -> bool {
        let own = &self.seats[seat];
        match own.ticket.load(Ordering::Acquire) {
            NO_TICKET => true,
            _ if own.in_flight_bytes() == 0 => true,
            _ => self.has_room() && self.first_waiting() == Some(seat),
        }
    }

    /// For the sender of `seat`: accounts for an object.
    pub(super) fn charge(&self, seat: usize, bytes: u32, now_ns: u64) {
        let own = &self.seats[seat];
        // The one object that a queue may always send does not cost it its place in line.
        if own.in_flight_bytes() > 0 {
            self.leave(seat);
        }
        let queued = own.queued_bytes.load(Ordering::Relaxed);
        own.queued_bytes
            .store(queued + u64::from(bytes), Ordering::Release);
        self.last_object_bytes.store(bytes, Ordering::Relaxed);
        if self.first_sent_ns.load(Ordering::Relaxed) == NOTHING_SENT {
            self.first_sent_ns.store(now_ns, Ordering::Relaxed);
        }
        self.queued_bytes.fetch_add(bytes.into(), Ordering::SeqCst);
    }

    /// Whether an object of `bytes` can be counted.
    pub(super) fn can_count(&self, bytes: u32) -> Result<(), Error> {
        let in_flight = self.in_flight_bytes();
        if bytes <= MAX_OBJECT && in_flight + u64::from(bytes) < MAX_IN_FLIGHT_BYTES {
            return Ok(());
        }
        Err(Error::TooMuchInFlight {
            units: bytes,
            in_flight: in_flight as u32,
        })
    }

    /// For the completer of `seat`: bytes came back, at most what it has in flight.
    pub(super) fn give_back(&self, seat: usize, bytes: u64) {
        let own = &self.seats[seat];
        let completed = own.completed_bytes.load(Ordering::Relaxed);
        own.completed_bytes
            .store(completed + bytes, Ordering::Release);
        self.completed_bytes.fetch_add(bytes, Ordering::SeqCst);
    }

    pub(super) fn in_flight_bytes(&self) -> u64 {
        // Completed first: it never overtakes what was queued, and too much is seen, not too little.
        let completed = self.completed_bytes.load(Ordering::SeqCst);
        self.queued_bytes.load(Ordering::SeqCst) - completed
    }

    /// For the sender of `seat`, which found no room: gets in line, unless it is.
    pub(super) fn enter(&self, seat: usize) {
        let own = &self.seats[seat].ticket;
        if own.load(Ordering::Relaxed) == NO_TICKET {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let ticket = self.last_ticket.fetch_add(1, Ordering::Relaxed) + 1;
            own.store(ticket, Ordering::Release);
        }
    }

    /// For the sender of `seat`, which waits for the budget no more.
    pub(super) fn leave(&self, seat: usize) {
        let own = &self.seats[seat].ticket;
        if own.load(Ordering::Relaxed) != NO_TICKET {
            own.store(NO_TICKET, Ordering::Release);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn first_waiting(&self) -> Option<usize> {
        let waiting = self.seats.iter().enumerate();
        let waiting = waiting.filter_map(|(seat, place)| Some((place.waits_since()?, seat)));
        waiting.min().map(|(_, seat)| seat)
    }

    /// For whoever gave back, or takes no more: starts the queue that has waited longest, if there
    /// is room. That one calls this when it is through. Returns which queue now runs.
    pub(super) fn start_next(&self) -> Option<usize> {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return None;
        }
        // Each round opens a gate, or somebody else did.
        while self.has_room() {
            let seat = self.first_waiting()?;
            // A queue whose ring is full cannot use the room: on to the next.
            if self.seats[seat].gates.start_stack() {
                self.starts.fetch_add(1, Ordering::Relaxed);
                return Some(seat);
            }
        }
        None
    }

    /// Something waits for the budget.
    pub(super) fn note_refused(&self) {
        self.refused.store(1, Ordering::Relaxed);
    }

    /// What a rule is told.
    pub(super) fn totals(&self) -> Totals {
        let completed_bytes = self.completed_bytes.load(Ordering::SeqCst);
        Totals {
            completed_bytes,
            queued_bytes: self.queued_bytes.load(Ordering::SeqCst),
            last_object_bytes: self.last_object_bytes.load(Ordering::Relaxed),
            first_sent_ns: self.first_sent_ns.swap(NOTHING_SENT, Ordering::Relaxed),
            refused: self.refused.swap(0, Ordering::Relaxed) != 0,
        }
    }

    pub(super) fn limit_bytes(&self) -> u32 {
        self.limit_bytes.load(Ordering::SeqCst)
    }

    pub(super) fn set_limit(&self, bytes: u32) {
        self.limit_bytes.store(bytes, Ordering::SeqCst);
    }

    pub(super) fn waits(&self) -> u64 {
        self.last_ticket.load(Ordering::Relaxed)
    }

    pub(super) fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }
}
