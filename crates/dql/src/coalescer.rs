/// Hands completions on to the estimator at an even pace: only when a period has passed since the
/// last time, or early when more is pending than the limit, since then the device may run dry.
///
/// Uneven completions (poll loops, small last rounds) make intervals that cannot be compared, and
/// the limit goes too high and stays. Only the *count* waits here: slots, frames and budgets go
/// back at once.
///
/// The period runs from the last hand-on. A queue that had nothing to complete for longer than
/// that has let its period run out, as a timer would have fired on nothing: its next completion
/// goes straight through, and the period starts there. So no completion waits longer than one
/// period, the first ever does not wait, and two hand-ons are never closer than a period unless
/// the second is early.
#[derive(Clone, Debug)]
pub struct Coalescer {
    period_ns: u64,
    pending: u32,
    period_start_ns: Option<u64>,
}

impl Coalescer {
    /// A cadence of one hand-on each `period_ns`; 0 hands everything on at once.
    pub const fn new(period_ns: u64) -> Self {
        Coalescer {
            period_ns,
            pending: 0,
            period_start_ns: None,
        }
    }

    /// The period, in nanoseconds; 0 hands everything on at once.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Changes the period, also of the one that runs; what is pending stays so until the next
    /// [`add`](Coalescer::add) or [`poll`](Coalescer::poll).
    pub fn set_period_ns(&mut self, period_ns: u64) {
        self.period_ns = period_ns;
    }

    /// Takes what one round of completions finished, and returns all that is to be handed on now.
    /// `limit` is the estimator's limit of this moment, in units.
    ///
    /// Nothing is handed on when nothing is pending. A sum of 2^32 units or more stays at 2^32 - 1,
    /// which is more than a queue can have in flight, so the estimator refuses it.
    #[must_use = "these units left the cadence: complete them, or they stay in flight for ever"]
    pub fn add(&mut self, units: u32, limit: u32, now_ns: u64) -> Option<u32> {
        self.pending = self.pending.saturating_add(units);
        if self.pending > limit {
            self.hand_on(now_ns)
        } else {
            self.poll(now_ns)
        }
    }

    /// For the timer: returns what is to be handed on when the period is over.
    #[must_use = "these units left the cadence: complete them, or they stay in flight for ever"]
    pub fn poll(&mut self, now_ns: u64) -> Option<u32> {
        match self.period_end_ns() {
            Some(end_ns) if now_ns < end_ns => None,
            _ => self.hand_on(now_ns),
        }
    }

    /// Units that wait to be handed on.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// When to call [`poll`](Coalescer::poll), in nanoseconds of the same clock; `None` while nothing
    /// is pending.
    pub fn next_wakeup(&self) -> Option<u64> {
        if self.pending == 0 {
            None
        } else {
            self.period_end_ns()
        }
    }

    /// Forgets what is pending and the period that runs; for when the queue is reset.
    pub fn reset(&mut self) {
        *self = Coalescer::new(self.period_ns);
    }

    fn period_end_ns(&self) -> Option<u64> {
        self.period_start_ns
            .map(|start_ns| start_ns.saturating_add(self.period_ns))
    }

    fn hand_on(&mut self, now_ns: u64) -> Option<u32> {
        if self.pending == 0 {
            return None;
        }
        self.period_start_ns = Some(now_ns);
        Some(core::mem::take(&mut self.pending))
    }
}
