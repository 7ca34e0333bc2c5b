//! A rule and a queue's accounting for it, without a queue.

use taut_dql::{Error, check_object};
use taut_path::limit::{CompletionBatch, Limit};

/// The part of a queue that serves its rule: it counts queued and completed units, and passes on
/// the fields that the rule needs.
pub struct Ruled<L> {
    pub rule: L,
    num_queued: u32,
    num_completed: u32,
    last_object: u32,
    /// The rule requested the time of the next object.
    asked: bool,
    returned_ns: Option<u64>,
    refusals: u32,
    chain_is_open: bool,
}

impl<L: Limit> Ruled<L> {
    pub fn new(mut rule: L) -> Self {
        rule.begin(0);
        Self {
            rule,
            num_queued: 0,
            num_completed: 0,
            last_object: 0,
            asked: true,
            returned_ns: None,
            refusals: 0,
            chain_is_open: false,
        }
    }

    pub fn in_flight(&self) -> u32 {
        self.num_queued.wrapping_sub(self.num_completed)
    }

    pub fn limit(&self) -> u32 {
        self.rule.limit()
    }

    pub fn has_room(&self) -> bool {
        self.in_flight() <= self.limit()
    }

    pub fn queued(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        check_object(self.in_flight(), units)?;
        if core::mem::take(&mut self.asked) {
            self.returned_ns = Some(now_ns);
        }
        self.num_queued = self.num_queued.wrapping_add(units);
        self.last_object = units;
        Ok(())
    }

    pub fn refused(&mut self) {
        self.refusals = self.refusals.wrapping_add(1);
    }

    /// Completes units, at most those in flight; an empty batch only closes a budgeted reap.
    pub fn completed(&mut self, units: u32, now_ns: u64, more: bool) {
        if units == 0 && !self.chain_is_open {
            return;
        }
        let more = more && units > 0;
        self.rule.completed(&CompletionBatch {
            now_ns,
            units,
            in_flight: self.in_flight(),
            last_object: self.last_object,
            more_pending: more,
            ring_units: u32::MAX,
            sender_returned_ns: self.returned_ns,
            times_blocked: self.refusals,
            rate_per_s: 0,
        });
        self.num_completed = self.num_completed.wrapping_add(units);
        self.chain_is_open = more;
        if self.rule.needs().return_time && self.returned_ns.take().is_some() {
            self.asked = true;
        }
    }

    pub fn reset(&mut self, now_ns: u64) {
        self.rule.reset(now_ns);
        (self.num_queued, self.num_completed, self.refusals) = (0, 0, 0);
        (self.asked, self.returned_ns) = (true, None);
        self.chain_is_open = false;
    }
}
