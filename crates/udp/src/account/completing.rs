//! Completing: processing the kernel's reports, and detecting lost completions.

use super::in_flight::{NotInFlight, Object};
use super::results::{Completed, Departure};
use super::tracker::SocketTracker;
use crate::error_queue_entry::ErrorQueueEntry;
use crate::quality::Source;

/// Poll interval of [`Source::Polled`].
const POLL_NS: u64 = 1_000_000;
/// Silence of timestamps after which the level is read: it shows whether the socket is empty.
const SILENCE_NS: u64 = 20_000_000;
/// How long overtaken objects are waited for. A discipline with several queues reorders datagrams
/// to several peers.
const OVERTAKEN_NS: u64 = 50_000_000;
/// As above, for zero-copy: queues beyond this host reorder by the backlog of a bulk peer.
const OVERTAKEN_ZERO_COPY_NS: u64 = 500_000_000;

/// Receives each departure.
type OnDeparture<'a> = &'a mut dyn FnMut(Departure);

impl SocketTracker {
    /// Processes one entry of the error queue. An entry that is not a completion has no effect.
    pub(crate) fn error_queue_entry(
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
                if let Some(range) = self.without_rejected(first, last) {
                    self.released(range, now_ns, on_departure);
                }
            }
            _ => {}
        }
    }

    /// Removes the rejected datagram from a range of released ids. Returns the remainder.
    fn without_rejected(&mut self, first: u32, last: u32) -> Option<(u32, u32)> {
        if self.rejected != Some(last) {
            return Some((first, last));
        }
        self.rejected = None;
        (first != last).then(|| (first, last.wrapping_sub(1)))
    }

    fn left(&mut self, id: u32, at_real_ns: u64, now_ns: u64, on_departure: OnDeparture<'_>) {
        let stamp = Some(at_real_ns);
        let mut reported = id;
        while let Some((before, object)) = self.objects.complete_unreported_before(reported) {
            self.depart(before, &object, stamp, false, now_ns, on_departure);
            reported = before;
        }
        if let Some(object) = self.complete(id) {
            self.observed(at_real_ns > object.returned_real_ns && object.returned_real_ns != 0);
            self.depart(id, &object, stamp, false, now_ns, on_departure);
        }
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
                self.depart(id, &object, None, false, now_ns, on_departure);
            }
        }
    }

    /// Processes the socket's level, `level_bytes`. For [`Source::Polled`] this completes the
    /// objects that do not fit below it. For timestamps, a level of 0 replaces lost ones: read the
    /// level first and the error queue after it, then call this. For zero-copy the level proves
    /// little, because it excludes packets beyond a container's own link. It is used only after a
    /// long silence.
    pub(crate) fn level(&mut self, level_bytes: u32, now_ns: u64, on_departure: OnDeparture<'_>) {
        let is_silent = self.batch.counts.packets == 0 && self.needs_level(now_ns);
        let is_lost = match self.source() {
            Source::Polled => false,
            Source::Timestamps if level_bytes == 0 => true,
            Source::ZeroCopy if level_bytes == 0 && is_silent => true,
            _ => return,
        };
        while let Some(object) = self.objects.first() {
            let others_bytes = self.objects.memory_bytes() - u64::from(object.memory_bytes);
            if level_bytes > 0 && others_bytes < u64::from(level_bytes) {
                return;
            }
            self.depart_first(is_lost, now_ns, on_departure);
        }
    }

    fn depart_first(&mut self, is_lost: bool, now_ns: u64, on_departure: OnDeparture<'_>) {
        if let Some((id, object)) = self.objects.pop_first() {
            self.depart(id, &object, None, is_lost, now_ns, on_departure);
        }
    }

    /// Removes the object with this id from those in flight.
    fn complete(&mut self, id: u32) -> Option<Object> {
        match self.objects.complete(id) {
            Ok(object) => return Some(object),
            Err(NotInFlight::Stale) => self.totals.stale_completions += 1,
            Err(NotInFlight::Unknown) => self.totals.unknown_completions += 1,
        }
        None
    }

    /// Counts and reports an object after its departure, at `stamp_real_ns` of the wall clock if
    /// the kernel reported that.
    fn depart(
        &mut self,
        id: u32,
        object: &Object,
        stamp_real_ns: Option<u64>,
        is_lost: bool,
        now_ns: u64,
        on_departure: OnDeparture<'_>,
    ) {
        let units = self.limiter.units(object.bytes, object.datagrams);
        if is_lost {
            // Its departure time is unknown, so the rule does not learn from it.
            self.limiter.unqueue(units);
        } else {
            self.limiter.complete(units);
        }
        self.losses.push(is_lost);
        self.totals.lost_completions += u64::from(is_lost);
        self.totals.completed_bytes += u64::from(object.bytes);
        let batch = &mut self.batch;
        batch.lost += u32::from(is_lost);
        batch.counts.packets += 1;
        batch.counts.bytes += object.bytes;
        // The wall clock might have been set: no object is older than since it was sent.
        let age_ns = now_ns.saturating_sub(object.sent_ns);
        let stamp_real_ns = stamp_real_ns.unwrap_or(u64::MAX);
        let sojourn_ns = stamp_real_ns.checked_sub(object.sent_real_ns);
        batch.clock_reversed |= sojourn_ns.is_none() || now_ns < object.sent_ns;
        on_departure(Departure {
            id,
            bytes: object.bytes,
            datagrams: object.datagrams,
            tag: object.tag,
            sojourn_ns: sojourn_ns.map_or(age_ns, |sojourn_ns| sojourn_ns.min(age_ns)),
            lost: is_lost,
        });
    }

    /// Ends a batch: passes the completions to the rule as one interval. Call it also without
    /// completions, at [`next_wakeup`](Self::next_wakeup): it abandons lost objects and detects
    /// stalls.
    pub(crate) fn end_batch(&mut self, now_ns: u64, on_departure: OnDeparture<'_>) -> Completed {
        self.give_up_overtaken(now_ns, on_departure);
        let mut batch = std::mem::take(&mut self.batch);
        if batch.counts.packets > 0 {
            self.active_ns = now_ns;
        }
        let applies = self.detector.limit_applies();
        self.limiter.end_batch(applies, now_ns);
        if batch.quality_change.is_some() {
            self.totals.quality_changes += 1;
            self.detector.changed_ns = now_ns;
            // The rule's state from completions of another quality is meaningless. The rate stays:
            // it is measured while the path is busy.
            self.limiter.reset_rule(now_ns);
        }
        let was_stalled = self.stalls.is_stalled();
        let oldest_ns = self.objects.first().map(|oldest| oldest.sent_ns);
        batch.stalled = self.stalls.check(oldest_ns, now_ns);
        self.totals.stalls += u64::from(batch.stalled.is_some() && !was_stalled);
        batch
    }

    /// Timestamps are lost when the error queue is full, and notifications when another reader
    /// takes them. So objects that were overtaken long ago are abandoned. Later ones have a time of
    /// their own.
    fn give_up_overtaken(&mut self, now_ns: u64, on_departure: OnDeparture<'_>) {
        if self.objects.overtaker().is_some() {
            if self.give_up_ns().is_some_and(|at_ns| now_ns < at_ns) {
                return;
            }
            if let Some((overtaker, _)) = self.overtaken {
                while self.objects.first_is_before(overtaker) {
                    self.depart_first(true, now_ns, on_departure);
                }
            }
        }
        self.overtaken = self.objects.overtaker().map(|id| (id, now_ns));
    }

    /// Returns when the time of the overtaken objects is over.
    fn give_up_ns(&self) -> Option<u64> {
        let time_ns = match self.source() {
            Source::ZeroCopy => OVERTAKEN_ZERO_COPY_NS,
            _ => OVERTAKEN_NS,
        };
        Some(self.overtaken?.1.saturating_add(time_ns))
    }

    /// Returns when the level must be read without a notification.
    fn poll_ns(&self) -> u64 {
        self.active_ns.saturating_add(match self.source() {
            Source::Polled => POLL_NS,
            Source::Timestamps => SILENCE_NS,
            Source::ZeroCopy => self.stalls.silence_ns(),
        })
    }

    /// Returns `true` if the level of the socket should be read now: it is the source, or the
    /// source was silent for long.
    pub(crate) fn needs_level(&self, now_ns: u64) -> bool {
        let is_due = self.source() == Source::Polled || now_ns >= self.poll_ns();
        is_due && !self.objects.is_empty()
    }

    /// Returns when to poll even without a notification of the kernel, in ns; `None` while nothing
    /// is in flight.
    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        let oldest_ns = self.objects.first()?.sent_ns;
        let stall_ns = self.stalls.next_wakeup(oldest_ns);
        let at_ns = [Some(self.poll_ns()), self.give_up_ns(), stall_ns];
        at_ns.into_iter().flatten().min()
    }

    /// Records that the level was read: it is read again a period later.
    pub(crate) fn level_was_read(&mut self, now_ns: u64) {
        self.active_ns = now_ns;
    }
}
