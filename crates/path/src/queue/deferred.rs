//! Results of failed batches: the next batch that succeeds reports them.

use super::outcome::Completed;

/// Results that an error hid from the caller.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// `true` if there are any.
    pending: bool,
    completed: Completed,
}

impl Deferred {
    /// Reports with the next batch that succeeds that the sender must be run.
    pub(super) fn schedule(&mut self) {
        self.pending = true;
        self.completed.schedule = true;
    }

    /// Adds the deferred results to those of a batch. If the batch failed, keeps all of them for
    /// the next one.
    ///
    /// # Errors
    /// `error`, if there is one.
    #[inline]
    pub(super) fn settle<E>(
        &mut self,
        mut completed: Completed,
        error: Option<E>,
    ) -> Result<Completed, E> {
        if let Some(error) = error {
            self.defer(&completed);
            return Err(error);
        }
        if self.pending {
            self.defer(&completed);
            // Each batch finds pending completions again.
            completed = Completed {
                more_pending: completed.more_pending,
                ..core::mem::take(self).completed
            };
        }
        Ok(completed)
    }

    /// Forgets a stall, because the queue was reset or repaired.
    pub(super) fn forget_stall(&mut self) {
        self.completed.stalled = None;
    }

    #[cold]
    fn defer(&mut self, completed: &Completed) {
        self.pending = true;
        let deferred = &mut self.completed;
        deferred.schedule |= completed.schedule;
        deferred.counts.packets += completed.counts.packets;
        deferred.counts.bytes = (deferred.counts.bytes).saturating_add(completed.counts.bytes);
        deferred.stale_packets += completed.stale_packets;
        deferred.stalled = completed.stalled.or(deferred.stalled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::CompletedCounts;
    use taut_dql::Stall;

    fn batch(packets: u32, schedule: bool) -> Completed {
        Completed {
            counts: CompletedCounts {
                packets,
                bytes: packets * 100,
            },
            stale_packets: packets + 1,
            schedule,
            more_pending: true,
            stalled: None,
        }
    }

    #[test]
    fn failed_batches_are_reported_by_the_next_success() {
        let mut deferred = Deferred::default();
        assert_eq!(deferred.settle(batch(1, true), Some("no")), Err("no"));
        assert_eq!(deferred.settle(batch(2, false), Some("no")), Err("no"));
        let reported = deferred
            .settle::<()>(batch(3, false), None)
            .expect("no error");
        assert_eq!((reported.counts.packets, reported.counts.bytes), (6, 600));
        assert_eq!((reported.stale_packets, reported.schedule), (9, true));
        assert!(reported.more_pending);
        assert_eq!(
            deferred.settle::<()>(batch(3, false), None),
            Ok(batch(3, false))
        );
    }

    #[test]
    fn a_schedule_between_batches_is_reported_once() {
        let mut deferred = Deferred::default();
        deferred.schedule();
        assert_eq!(
            deferred.settle::<()>(batch(0, false), None),
            Ok(batch(0, true))
        );
        assert_eq!(
            deferred.settle::<()>(batch(0, false), None),
            Ok(batch(0, false))
        );
    }

    #[test]
    fn newest_stall_is_reported_once() {
        let mut deferred = Deferred::default();
        let at = |age_ns| Completed {
            stalled: Some(Stall {
                age_ns,
                since_ns: 0,
            }),
            ..batch(0, false)
        };
        for failed in [at(1), at(2), batch(0, false)] {
            assert!(deferred.settle(failed, Some(())).is_err());
        }
        let reported = deferred.settle::<()>(batch(0, false), None);
        assert_eq!(reported.expect("no error").stalled, at(2).stalled);
        assert!(deferred.settle(at(3), Some(())).is_err());
        deferred.forget_stall();
        let reported = deferred.settle::<()>(batch(0, false), None);
        assert_eq!(reported.expect("no error").stalled, None);
    }

    #[test]
    fn bytes_saturate() {
        let mut deferred = Deferred::default();
        let mut huge = batch(1, false);
        huge.counts.bytes = u32::MAX;
        assert!(deferred.settle(huge, Some(())).is_err());
        let reported = deferred.settle::<()>(huge, None).expect("no error");
        assert_eq!(reported.counts.bytes, u32::MAX);
    }
}
