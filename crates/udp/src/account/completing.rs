//! Completing: processing the kernel's reports, and detecting lost completions.

use taut_dql::Stall;

use super::in_flight::{Completion, Object};
use super::results::{Completed, Departure, DepartureKind};
use super::settings::Source;
use super::tracker::SocketTracker;
use crate::error_queue_entry::ErrorQueueEntry;

/// Receives each departure.
type OnDeparture<'a> = &'a mut dyn FnMut(Departure);

impl SocketTracker {
    /// Processes one entry of the error queue. An entry that is not a completion has no effect.
    pub fn error_queue_entry(
        &mut self,
        entry: &ErrorQueueEntry,
        now_ns: u64,
        on_departure: OnDeparture<'_>,
    ) {
        match (*entry, self.source()) {
            (ErrorQueueEntry::Left { id, at_real_ns }, Source::Timestamps) => {
                self.left(id, at_real_ns, now_ns, on_departure);
            }
            (
                ErrorQueueEntry::Released {
                    first,
                    last,
                    copied,
                },
                Source::ZeroCopy,
            ) => {
                self.totals.copied += u64::from(copied);
                if let Some(range) = self.rejected.split_off(first, last) {
                    self.released(range, now_ns, on_departure);
                }
            }
            _ => {}
        }
    }

    fn left(&mut self, id: u32, at_real_ns: u64, now_ns: u64, on_departure: OnDeparture<'_>) {
        let mut reported = id;
        while let Some((before, object)) = self.objects.complete_unreported_before(reported) {
            self.depart_at(before, &object, at_real_ns, now_ns, on_departure);
            reported = before;
        }
        let Some(object) = self.complete(id) else {
            return;
        };
        let waited = at_real_ns > object.returned_real_ns && object.returned_real_ns != 0;
        self.observed(waited);
        self.depart_at(id, &object, at_real_ns, now_ns, on_departure);
    }

    /// Completes an object that left at a time of the wall clock.
    fn depart_at(
        &mut self,
        id: u32,
        object: &Object,
        at_real_ns: u64,
        now_ns: u64,
        on_departure: OnDeparture<'_>,
    ) {
        // The wall clock might have been set: no object is older than since it was sent.
        let longest_ns = now_ns.saturating_sub(object.sent_ns);
        let sojourn_ns = at_real_ns.checked_sub(object.sent_real_ns);
        self.batch.clock_reversed |= sojourn_ns.is_none() || now_ns < object.sent_ns;
        let sojourn_ns = sojourn_ns.unwrap_or(longest_ns).min(longest_ns);
        self.count_completed(object);
        on_departure(object.departure(id, sojourn_ns, DepartureKind::Timestamp));
    }

    /// Completes the objects of a range of ids (first, last) that the kernel released.
    fn released(&mut self, (first, last): (u32, u32), now_ns: u64, on_departure: OnDeparture<'_>) {
        let after_first = last.wrapping_sub(first);
        let ids: Vec<u32> = if after_first as usize <= self.objects.len() {
            (0..=after_first).map(|at| first.wrapping_add(at)).collect()
        } else {
            // The range has unknown ids: only the known ones complete.
            self.totals.unknown_completions += 1;
            let ours = self.objects.iter().map(|(id, _)| id);
            ours.filter(|id| id.wrapping_sub(first) <= after_first)
                .collect()
        };
        for id in ids {
            if let Some(object) = self.complete(id) {
                self.depart(id, &object, now_ns, DepartureKind::ZeroCopy, on_departure);
            }
        }
    }

    /// Processes the socket's level, `level_bytes`. For [`Source::Polled`] this completes the
    /// objects that do not fit below it. For timestamps, a level of 0 replaces lost ones: read the
    /// level first and the error queue after it, then call this. For zero-copy the level proves
    /// little, because it excludes packets beyond a container's own link. It is used only after a
    /// long silence.
    pub fn level(&mut self, level_bytes: u32, now_ns: u64, on_departure: OnDeparture<'_>) {
        let is_silent = self.batch.counts.packets == 0 && self.needs_level(now_ns);
        let kind = match self.source() {
            Source::Polled => DepartureKind::Polled,
            Source::Timestamps if level_bytes == 0 => DepartureKind::Lost,
            Source::ZeroCopy if level_bytes == 0 && is_silent => DepartureKind::Lost,
            _ => return,
        };
        while let Some(object) = self.objects.first() {
            let others_bytes = self.objects.memory_bytes() - u64::from(object.memory_bytes);
            if level_bytes > 0 && others_bytes < u64::from(level_bytes) {
                return;
            }
            self.depart_first(now_ns, kind, on_departure);
        }
    }

    fn depart_first(&mut self, now_ns: u64, kind: DepartureKind, on_departure: OnDeparture<'_>) {
        if let Some((id, object)) = self.objects.pop_first() {
            self.depart(id, &object, now_ns, kind, on_departure);
        }
    }

    fn depart(
        &mut self,
        id: u32,
        object: &Object,
        now_ns: u64,
        kind: DepartureKind,
        on_departure: OnDeparture<'_>,
    ) {
        match kind {
            DepartureKind::Lost => self.count_lost(object),
            _ => self.count_completed(object),
        }
        self.batch.clock_reversed |= now_ns < object.sent_ns;
        on_departure(object.departure(id, now_ns.saturating_sub(object.sent_ns), kind));
    }

    /// Removes the object with this id from those in flight.
    fn complete(&mut self, id: u32) -> Option<Object> {
        match self.objects.complete(id) {
            Completion::Valid(object) => return Some(object),
            Completion::Stale => self.totals.stale_completions += 1,
            Completion::Unknown => self.totals.unknown_completions += 1,
        }
        None
    }

    fn count_completed(&mut self, object: &Object) {
        self.source.losses.completed();
        self.batch.units += self.count(object);
    }

    /// Its departure time is unknown, so the rule does not learn from it.
    fn count_lost(&mut self, object: &Object) {
        self.source.losses.lost();
        self.batch.lost += 1;
        self.totals.lost_completions += 1;
        let units = self.count(object);
        self.limiter.unqueue(units);
    }

    /// Counts an object that is no longer in flight. Returns its units.
    fn count(&mut self, object: &Object) -> u32 {
        self.totals.completed_bytes += u64::from(object.bytes);
        self.batch.counts.packets += 1;
        self.batch.counts.bytes += object.bytes;
        self.limiter.units(object.bytes, object.datagrams)
    }

    /// Counts a completion with an unknown id.
    pub fn count_unknown(&mut self) {
        self.totals.unknown_completions += 1;
    }

    /// Ends a batch: passes the completions to the rule as one interval. Call it also without
    /// completions, at [`next_wakeup`](Self::next_wakeup): it abandons lost objects and detects
    /// stalls.
    pub fn end_batch(&mut self, now_ns: u64, on_departure: OnDeparture<'_>) -> Completed {
        self.give_up_overtaken(now_ns, on_departure);
        let batch = std::mem::take(&mut self.batch);
        if batch.counts.packets > 0 {
            self.polls.restart(now_ns);
        }
        let applies = self.limit_applies();
        self.limiter.completed(batch.units, applies, now_ns);
        if batch.quality_changed {
            self.totals.quality_changes += 1;
            self.source.changed(now_ns);
            // The rule's state from completions of another quality is meaningless. The rate stays:
            // it is measured while the path is busy.
            self.limiter.reset_rule(now_ns);
        }
        Completed {
            counts: batch.counts,
            lost: batch.lost,
            quality_change: batch.quality_changed.then(|| self.quality()),
            stalled: self.check_stall(now_ns),
            clock_reversed: batch.clock_reversed,
        }
    }

    /// Timestamps are lost when the error queue is full, and notifications when another reader
    /// takes them. So objects that were overtaken long ago are abandoned.
    fn give_up_overtaken(&mut self, now_ns: u64, on_departure: OnDeparture<'_>) {
        let overtaker = self.objects.overtaker();
        if overtaker.is_some() {
            if self.overtaken.is_waiting(self.source(), now_ns) {
                return;
            }
            if let Some(by) = self.overtaken.overtaker() {
                while self.objects.first_is_before(by) {
                    self.depart_first(now_ns, DepartureKind::Lost, on_departure);
                }
            }
        }
        self.overtaken.start(self.objects.overtaker(), now_ns);
    }

    fn check_stall(&mut self, now_ns: u64) -> Option<Stall> {
        let was_stalled = self.stalls.is_stalled();
        let oldest_ns = self.objects.first().map(|oldest| oldest.sent_ns);
        let stall = self.stalls.check(oldest_ns, now_ns);
        self.totals.stalls += u64::from(stall.is_some() && !was_stalled);
        stall
    }

    /// Returns `true` if the level of the socket should be read now: it is the source, or the
    /// source was silent for long.
    pub fn needs_level(&self, now_ns: u64) -> bool {
        !self.objects.is_empty() && self.polls.needs_level(self.source(), now_ns)
    }

    /// Returns when to poll even without a notification of the kernel, in ns; `None` while nothing
    /// is in flight.
    pub fn next_wakeup(&self) -> Option<u64> {
        let oldest_ns = self.objects.first()?.sent_ns;
        let source = self.source();
        let at_ns = [
            Some(self.polls.next_wakeup(source)),
            self.overtaken.next_wakeup(source),
            self.stalls.next_wakeup(oldest_ns),
        ];
        at_ns.into_iter().flatten().min()
    }

    /// Records that the level was read: it is read again a period later.
    pub fn level_was_read(&mut self, now_ns: u64) {
        self.polls.restart(now_ns);
    }
}
