/// Joins completions before they reach the rule: it releases their sum once per period, or
/// early if more than the limit is pending, because the device might then run dry.
///
/// Uneven completion batches (poll loops, small last batches) make intervals that cannot be
/// compared. The limit then grows too large and stays so. Only the *count* is held back: slots,
/// frames and budgets are returned immediately.
///
/// The period starts at each release. If it expires with nothing pending, the next completion is
/// released immediately and starts a new period. No completion waits longer than one period, and
/// the first does not wait. Two releases are at least one period apart, unless the second is early.
#[derive(Clone, Debug)]
pub struct Coalescer {
    period_ns: u64,
    pending: u32,
    period_start_ns: Option<u64>,
}

impl Coalescer {
    /// A coalescer with one release per `period_ns`; 0 releases everything immediately.
    pub const fn new(period_ns: u64) -> Self {
        Coalescer {
            period_ns,
            pending: 0,
            period_start_ns: None,
        }
    }

    /// Returns the period, in nanoseconds; 0 releases everything immediately.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Adds the units of a completion batch. Returns the sum if it is released now. `limit` is the
    /// current limit, in units.
    ///
    /// Nothing is released if nothing is pending. A sum saturates at 2^32 - 1 units, which is more
    /// than a queue can have in flight, so `completed` rejects it.
    #[must_use = "these units left the coalescer: complete them, or they stay in flight for ever"]
    pub fn add(&mut self, units: u32, limit: u32, now_ns: u64) -> Option<u32> {
        self.pending = self.pending.saturating_add(units);
        if self.pending > limit {
            self.release(now_ns)
        } else {
            self.poll(now_ns)
        }
    }

    /// For the timer: returns the pending units if the period is over.
    #[must_use = "these units left the coalescer: complete them, or they stay in flight for ever"]
    pub fn poll(&mut self, now_ns: u64) -> Option<u32> {
        match self.period_end_ns() {
            Some(end_ns) if now_ns < end_ns => None,
            _ => self.release(now_ns),
        }
    }

    /// Returns the units not yet released.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Returns when to call [`poll`](Coalescer::poll), in nanoseconds of the same clock; `None`
    /// while nothing is pending.
    pub fn next_wakeup(&self) -> Option<u64> {
        if self.pending == 0 {
            None
        } else {
            self.period_end_ns()
        }
    }

    /// Discards the pending units and the current period, for when the queue is reset.
    pub fn reset(&mut self) {
        *self = Coalescer::new(self.period_ns);
    }

    fn period_end_ns(&self) -> Option<u64> {
        self.period_start_ns
            .map(|start_ns| start_ns.saturating_add(self.period_ns))
    }

    fn release(&mut self, now_ns: u64) -> Option<u32> {
        if self.pending == 0 {
            return None;
        }
        self.period_start_ns = Some(now_ns);
        Some(core::mem::take(&mut self.pending))
    }
}
