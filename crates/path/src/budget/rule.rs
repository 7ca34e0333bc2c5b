//! The rule that moves a budget, told by whoever completes, one at a time.

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicU64, Ordering};
use taut_dql::{Error, MAX_OBJECT};

use super::line::{Line, Totals};
use crate::limit::{Done, Limit, LimitCompleter, LimitSender};

/// Has the rule, and lends it to one completer at a time. One that comes while it is lent goes on:
/// its bytes came back already, and the rule hears of them the next time.
pub(super) struct Steward<R: Limit> {
    /// A place for one value that one thread at a time can take, without unsafe code of our own.
    rule: ConcurrentQueue<Rule<R>>,
    interval_ns: u64,
    /// When the rule is told next.
    due_ns: AtomicU64,
}

/// Both halves of the rule, and what they were told.
struct Rule<R: Limit> {
    sender: R::Sender,
    completer: R::Completer,
    queued_bytes: u64,
    completed_bytes: u64,
    now_ns: u64,
}

impl<R: Limit> Steward<R> {
    /// A rule that is told once in `interval_ns`. Returns the limit that it begins with, too.
    pub(super) fn new(rule: R, interval_ns: u64, now_ns: u64) -> Result<(Self, u32), Error> {
        let (sender, completer) = rule.split(now_ns)?;
        let limit_bytes = completer.snapshot().limit;
        let steward = Self {
            rule: ConcurrentQueue::bounded(1),
            interval_ns,
            due_ns: AtomicU64::new(now_ns),
        };
        // There is room for one.
        let _ = steward.rule.push(Rule {
            sender,
            completer,
            queued_bytes: 0,
            completed_bytes: 0,
            now_ns,
        });
        Ok((steward, limit_bytes))
    }

    /// Tells the rule what was sent and came back, if it is time or nothing is in flight any more,
    /// and publishes what it says.
    pub(super) fn settle(&self, line: &Line, now_ns: u64) {
        let early = now_ns < self.due_ns.load(Ordering::Relaxed);
        if early && line.in_flight_bytes() > 0 {
            return;
        }
        let Ok(mut rule) = self.rule.pop() else {
            return;
        };
        line.set_limit(rule.hear(&line.totals(), now_ns));
        let due_ns = now_ns.saturating_add(self.interval_ns);
        self.due_ns.store(due_ns, Ordering::Relaxed);
        let _ = self.rule.push(rule);
    }
}

impl<R: Limit> Rule<R> {
    /// Returns the limit then.
    fn hear(&mut self, totals: &Totals, now_ns: u64) -> u32 {
        // Of two completers on two threads, the one that read the clock first may come last.
        self.now_ns = self.now_ns.max(now_ns);
        // What the rule refuses to count it is told the next time, before it completes. It should
        // not: the line refuses at half of what a rule can count.
        if self.queue(totals).is_ok() {
            let bytes = (totals.completed_bytes - self.completed_bytes) as u32;
            let done = Done { packets: 1, bytes };
            if bytes > 0 && self.completer.completed(done, self.now_ns, false).is_ok() {
                self.completed_bytes = totals.completed_bytes;
            }
        }
        self.completer.snapshot().limit
    }

    fn queue(&mut self, totals: &Totals) -> Result<(), Error> {
        let last = u64::from(totals.last_object_bytes);
        while self.queued_bytes < totals.queued_bytes {
            let rest = totals.queued_bytes - self.queued_bytes;
            // The last object by itself: a rule asks how large it was.
            let object = if rest > last { rest - last } else { rest };
            let object = object.min(MAX_OBJECT.into());
            self.sender.queued(object as u32, totals.first_sent_ns)?;
            self.queued_bytes += object;
        }
        if totals.refused {
            self.sender.refused();
        }
        Ok(())
    }
}
