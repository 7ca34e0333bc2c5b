//! The rule that moves a budget, told by whoever completes, one at a time.

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::SingleWriterU64;

use super::waiters::{Totals, Waiters};
use crate::limit::{AnyLimit, CompletionBatch, Limit};
use crate::rate::{RateMeter, RateSample};

/// Has the rule, and lends it to one completer at a time. One that comes while it is lent goes on:
/// its bytes came back already, and the rule hears of them the next time.
pub(super) struct SharedRule {
    /// A place for one value that one thread at a time can take, without unsafe code of our own.
    rule: ConcurrentQueue<Rule>,
    interval_ns: u64,
    /// When the rule is told next. Written by whoever has the rule.
    due_ns: SingleWriterU64,
}

/// The rule, and what it was told.
struct Rule {
    limit: AnyLimit,
    /// How fast the device sends, if the rule wants to know.
    rate: Option<RateMeter>,
    completed_bytes: u32,
    queued_bytes: u32,
    /// When the senders queued first since the rule asked; `None` while none did.
    returned_ns: Option<u64>,
    now_ns: u64,
}

impl SharedRule {
    /// A rule that is told once in `interval_ns`. Returns the limit that it begins with, too.
    pub(super) fn new(mut limit: AnyLimit, interval_ns: u64, now_ns: u64) -> (Self, u32) {
        limit.begin(now_ns);
        let limit_bytes = limit.limit();
        let rule = Self {
            rule: ConcurrentQueue::bounded(1),
            interval_ns,
            due_ns: SingleWriterU64::new(now_ns),
        };
        // There is room for one.
        let _ = rule.rule.push(Rule {
            rate: limit.needs().rate.then(RateMeter::new),
            limit,
            completed_bytes: 0,
            queued_bytes: 0,
            returned_ns: None,
            now_ns,
        });
        (rule, limit_bytes)
    }

    /// Tells the rule what was sent and came back, if it is time or nothing is in flight any more,
    /// and publishes what it says.
    pub(super) fn tell(&self, waiters: &Waiters, now_ns: u64) {
        let early = now_ns < self.due_ns.load();
        if early && waiters.in_flight_bytes() > 0 {
            return;
        }
        let mut lent = Lent::from(&self.rule);
        let Some(rule) = &mut lent.rule else {
            return;
        };
        waiters.set_limit(rule.hear(&waiters.totals(), now_ns));
        self.due_ns.store(now_ns.saturating_add(self.interval_ns));
    }
}

/// The rule while it is lent, if it was in its place; it goes back there also after a panic.
struct Lent<'a> {
    place: &'a ConcurrentQueue<Rule>,
    rule: Option<Rule>,
}

impl<'a> Lent<'a> {
    fn from(place: &'a ConcurrentQueue<Rule>) -> Self {
        let rule = place.pop().ok();
        Self { place, rule }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(rule) = self.rule.take() {
            // There is room: nobody else puts one there.
            let _ = self.place.push(rule);
        }
    }
}

impl Rule {
    /// Returns the limit then.
    fn hear(&mut self, totals: &Totals, now_ns: u64) -> u32 {
        let before_ns = self.now_ns;
        // Of two completers on two threads, the one that read the clock first may come last.
        self.now_ns = before_ns.max(now_ns);
        if totals.queued_bytes != self.queued_bytes && self.returned_ns.is_none() {
            // An object whose time was not noted went while the rule was last told.
            let sent_ns = totals.first_sent_ns.unwrap_or(before_ns);
            // A sender may have read the clock after the completer.
            self.returned_ns = Some(sent_ns.min(self.now_ns));
        }
        self.queued_bytes = totals.queued_bytes;
        let units = totals.completed_bytes.wrapping_sub(self.completed_bytes);
        if units > 0 {
            let in_flight = self.queued_bytes.wrapping_sub(self.completed_bytes);
            let rate_per_s = self.rate.as_mut().map_or(0, |rate| {
                rate.record(RateSample {
                    now_ns: self.now_ns,
                    units,
                    left: in_flight.saturating_sub(units),
                    object: totals.last_object_bytes,
                });
                rate.units_per_s()
            });
            let limit = self.limit.completed(&CompletionBatch {
                now_ns: self.now_ns,
                units,
                in_flight,
                last_object: totals.last_object_bytes,
                more_pending: false,
                sender_returned_ns: self.returned_ns,
                times_blocked: totals.refusals,
                rate_per_s,
            });
            self.completed_bytes = totals.completed_bytes;
            if self.limit.needs().return_time {
                self.returned_ns = None;
            }
            return limit;
        }
        self.limit.limit()
    }
}
