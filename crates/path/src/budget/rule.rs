//! The rule of a budget. Each completer passes batches to it, one at a time.

use concurrent_queue::ConcurrentQueue;
use taut_dql::control::Control;
use taut_dql::ledger::Ledger;
use taut_dql::sync::SingleWriterU64;

use super::waiters::{BudgetTotals, Waiters};
use crate::limit::AnyLimit;
use crate::sharing::{Local, Wide};
use crate::slots::Lent;

/// Stores the rule and lends it to one completer at a time. A completer that finds it lent
/// continues without it: its bytes are room already, and the next batch includes them.
pub(super) struct SharedRule {
    /// A slot for one value that one thread at a time can take, without unsafe code.
    rule: ConcurrentQueue<BudgetRule>,
    interval_ns: u64,
    /// Time of the rule's next batch, in ns. Written by the thread that has the rule.
    due_ns: SingleWriterU64,
}

/// The rule and a ledger of all queues together.
struct BudgetRule {
    control: Control<AnyLimit>,
    ledger: Ledger<Local>,
    /// The totals of the last batch.
    queued_bytes: u32,
    completed_bytes: u32,
    times_blocked: u32,
    now_ns: u64,
}

impl SharedRule {
    /// Stores a rule that receives one batch per `interval_ns`. Returns also its first limit.
    pub(super) fn new(limit: AnyLimit, interval_ns: u64, now_ns: u64) -> (Self, u32) {
        let control = Control::new(limit, now_ns);
        let limit_bytes = control.limit();
        let rule = Self {
            rule: ConcurrentQueue::bounded(1),
            interval_ns,
            due_ns: SingleWriterU64::new(now_ns),
        };
        // Cannot fail: the slot is empty.
        let _ = rule.rule.push(BudgetRule {
            control,
            ledger: Ledger::new(limit_bytes),
            queued_bytes: 0,
            completed_bytes: 0,
            times_blocked: 0,
            now_ns,
        });
        (rule, limit_bytes)
    }

    /// Passes the totals to the rule if its interval is over or nothing is in flight, and publishes
    /// the limit.
    pub(super) fn update(&self, waiters: &Waiters, now_ns: u64) {
        let early = now_ns < Wide::load(&self.due_ns);
        if early && waiters.in_flight_bytes() > 0 {
            return;
        }
        let mut lent = Lent::from(&self.rule);
        let Some(rule) = &mut lent.value else {
            return;
        };
        waiters.set_limit(rule.update(&waiters.totals(), now_ns));
        Wide::store(&self.due_ns, now_ns.saturating_add(self.interval_ns));
    }
}

impl BudgetRule {
    /// Passes the difference to the previous totals as a batch. Returns the limit.
    fn update(&mut self, totals: &BudgetTotals, now_ns: u64) -> u32 {
        let before_ns = self.now_ns;
        // With completers on two threads, the one that read the clock first might run last.
        self.now_ns = before_ns.max(now_ns);
        if totals.queued_bytes != self.queued_bytes {
            // An object without a time was sent during the last batch.
            let sent_ns = totals.first_sent_ns.unwrap_or(before_ns);
            // A sender might have read the clock after the completer.
            self.ledger.record_return(sent_ns.min(self.now_ns));
        }
        let blocked = totals.times_blocked.wrapping_sub(self.times_blocked);
        self.ledger.note_blocked(blocked);
        let in_flight = totals.queued_bytes.wrapping_sub(self.completed_bytes);
        let units = totals.completed_bytes.wrapping_sub(self.completed_bytes);
        (self.queued_bytes, self.completed_bytes) = (totals.queued_bytes, totals.completed_bytes);
        self.times_blocked = totals.times_blocked;
        self.ledger.set_in_flight(in_flight, self.control.limit());
        self.ledger.set_last_object(totals.last_object_bytes);
        if units > 0
            && let Ok(batch) = self.ledger.batch(units, false, self.now_ns)
        {
            self.control.completed(&self.ledger, batch, false, |_| {});
        }
        self.control.limit()
    }
}
