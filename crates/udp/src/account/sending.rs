//! Sending: objects are counted before the kernel sees them, and removed if it rejects them.

use taut_dql::Error;

use super::in_flight::Object;
use super::tracker::SocketTracker;
use crate::quality::{CompletionQuality, Source};

/// Maximum number of datagrams that share a timestamp.
const MAX_GROUP: u32 = 16;

impl SocketTracker {
    /// Records a sender without room, after the error queue was read.
    pub(crate) fn blocked(&mut self) {
        self.still_blocked();
        self.totals.times_blocked += 1;
    }

    /// Records that a task that was counted when it started to wait is still blocked.
    pub(crate) fn still_blocked(&mut self) {
        self.detector.blocked();
        self.limiter.note_blocked();
    }

    /// Reserves units of an object that is sent later: they count as in flight for the limit.
    ///
    /// # Errors
    /// As for [`Ledger::queued`](taut_dql::ledger::Ledger::queued); nothing is reserved.
    pub(crate) fn reserve(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.limiter.reserve(units, now_ns)?;
        // As a sent object: a stalled path admits one per threshold.
        self.stalls.sent(now_ns);
        Ok(())
    }

    /// Counts an object, before the kernel can see it. Returns its id.
    pub(crate) fn queue(
        &mut self,
        bytes: u32,
        datagrams: u32,
        now_ns: u64,
        now_real_ns: u64,
    ) -> u32 {
        if self.limiter.in_flight() == 0 {
            self.active_ns = now_ns;
        }
        self.stalls.sent(now_ns);
        let units = self.limiter.units(bytes, datagrams);
        self.limiter.queued(units, now_ns);
        let memory_bytes = match self.source() {
            Source::Polled => self.memory.of(bytes),
            _ => 0,
        };
        self.totals.sent_objects += 1;
        self.totals.sent_datagrams += u64::from(datagrams);
        self.totals.sent_bytes += u64::from(bytes);
        self.detector.sent(1, now_ns);
        self.objects.push(Object {
            bytes,
            datagrams,
            memory_bytes,
            sent_ns: now_ns,
            sent_real_ns: now_real_ns,
            ..Object::default()
        })
    }

    /// Returns how many datagrams of `bytes` can share a timestamp, 1 to 16: as many as the path
    /// carries in `Settings::timestamp_interval_ns`, or on an immediate path, as many as one call
    /// sends.
    pub(crate) fn group(&self, bytes: u32) -> u32 {
        let max_units = match self.detector.quality {
            CompletionQuality::Immediate => return MAX_GROUP,
            CompletionQuality::Unknown => return 1,
            _ => self
                .limiter
                .rate
                .units_in(self.settings.timestamp_interval_ns),
        };
        let datagrams = max_units.unwrap_or(0) / self.limiter.units(bytes, 1);
        datagrams.clamp(1, MAX_GROUP)
    }

    /// Sets the caller's tag of the last queued object.
    pub(crate) fn tag_last(&mut self, tag: u32) {
        for object in self.objects.last_mut(1) {
            object.tag = tag;
        }
    }

    /// Marks the last queued object as unreported: the kernel reports no completion of it, and it
    /// completes with the next reported one. Only for an object on the same route as that one.
    pub(crate) fn make_last_unreported(&mut self) {
        for object in self.objects.last_mut(1) {
            object.unreported = true;
        }
    }

    /// Returns the number of unreported objects since the last reported one.
    pub(crate) fn unreported_at_end(&self) -> u32 {
        let objects = self.objects.iter().rev();
        objects.take_while(|(_, it)| it.unreported).count() as u32
    }

    /// Removes the last `count` objects, which the kernel rejected.
    pub(crate) fn unqueue(&mut self, count: usize) {
        for _ in 0..count {
            let Some(object) = self.objects.pop_last() else {
                return;
            };
            let units = self.limiter.units(object.bytes, object.datagrams);
            self.limiter.unqueue(units);
            self.totals.sent_objects -= 1;
            self.totals.sent_datagrams -= u64::from(object.datagrams);
            self.totals.sent_bytes -= u64::from(object.bytes);
        }
    }

    /// Skips an id that the kernel assigned to a datagram that it dropped immediately.
    pub(crate) fn skip_id(&mut self) {
        self.objects.skip();
    }

    /// Records that a zero-copy datagram was rejected. If the kernel assigned the next id to it,
    /// its notification is in the error queue: read that, then call
    /// [`take_rejected_id`](Self::take_rejected_id).
    pub(crate) fn expect_rejected_id(&mut self) {
        self.rejected = Some(self.objects.next());
    }

    /// Returns `true` if the kernel assigned an id to the rejected datagram; it is then skipped.
    /// Only after [`expect_rejected_id`](Self::expect_rejected_id).
    pub(crate) fn take_rejected_id(&mut self) -> bool {
        let is_notified = self.rejected.take().is_none();
        if is_notified {
            self.skip_id();
        }
        is_notified
    }

    /// Records when the call that passed the last `count` objects to the kernel returned, on the
    /// wall clock.
    pub(crate) fn returned(&mut self, count: usize, now_real_ns: u64) {
        for object in self.objects.last_mut(count) {
            object.returned_real_ns = now_real_ns;
        }
    }

    /// For [`Source::Polled`]: records that the level rose by `rise_bytes` when the last `count`
    /// objects were sent.
    pub(crate) fn level_rose(&mut self, count: usize, rise_bytes: u32) {
        let mut last = self.objects.iter().rev().take(count);
        if let Some((_, object)) = last.next()
            && last.all(|(_, other)| other.bytes == object.bytes)
        {
            self.memory.learn(object.bytes, rise_bytes / count as u32);
        }
        drop(last);
        self.observed(rise_bytes > 0);
    }

    /// Records whether an object was still in flight right after it was sent. Not needed with
    /// timestamps.
    pub(crate) fn observed(&mut self, waited: bool) {
        if self.detector.observed(waited) {
            self.batch.quality_change = Some(self.detector.quality);
        }
    }
}
