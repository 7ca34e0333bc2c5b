//! The cap in time, and changes of the source, in virtual time.

use std::collections::VecDeque;

use taut_path::AnyLimit;

use super::{Settings, SocketTracker};
use crate::error_queue_entry::ErrorQueueEntry;
use crate::quality::{CompletionQuality, Source};

const MS: u64 = 1_000_000;
const FULL_BYTES: u32 = 1_514;
/// Minimum of a cap.
const MIN_BYTES: u32 = 8 * FULL_BYTES;

/// A path that sends objects in sequence, and a sender that always has more.
struct Path {
    tracker: SocketTracker,
    bytes_per_s: u64,
    /// Burst of a token bucket after an idle time.
    burst_ns: u64,
    now_ns: u64,
    busy_until_ns: u64,
    /// Ids, and the departure time of each.
    objects: VecDeque<(u32, u64)>,
}

impl Path {
    fn new(bytes_per_s: u64) -> Self {
        Self::under(AnyLimit::bytes(1_000_000), bytes_per_s)
    }

    fn under(limit: AnyLimit, bytes_per_s: u64) -> Self {
        let settings = Settings {
            limit,
            source: Source::ZeroCopy,
            cap_ns: MS,
            ..Settings::default()
        };
        Self {
            tracker: SocketTracker::new(settings, 0),
            bytes_per_s,
            burst_ns: 0,
            now_ns: 0,
            busy_until_ns: 0,
            objects: VecDeque::new(),
        }
    }

    fn send(&mut self, bytes: u32) {
        let id = self.tracker.queue(bytes, 1, self.now_ns, self.now_ns);
        let tokens_ns = self.now_ns.saturating_sub(self.burst_ns);
        let ns = u64::from(bytes) * 1_000_000_000 / self.bytes_per_s;
        self.busy_until_ns = self.busy_until_ns.max(tokens_ns) + ns;
        self.objects.push_back((id, self.busy_until_ns));
        if self.burst_ns > 0 {
            self.complete();
        }
        self.tracker
            .observed(self.tracker.objects.get(id).is_some());
    }

    fn complete(&mut self) {
        while let Some(&(id, done_ns)) = self.objects.front()
            && done_ns <= self.now_ns
        {
            self.objects.pop_front();
            let on_departure = ErrorQueueEntry::Released {
                first: id,
                last: id,
                copied: false,
            };
            self.tracker
                .error_queue_entry(&on_departure, self.now_ns, &mut |_| {});
        }
        let _ = self.tracker.end_batch(self.now_ns, &mut |_| {});
    }

    /// Runs for `ms`, with a poll every `look_ns`. One of three datagrams is small, as with several
    /// connections on a socket.
    fn run(&mut self, ms: u64, look_ns: u64) {
        let end_ns = self.now_ns + ms * MS;
        while self.now_ns < end_ns {
            while self.tracker.has_room(self.now_ns) {
                let small = self.tracker.totals.sent_objects.is_multiple_of(3);
                self.send(if small { 80 } else { FULL_BYTES });
            }
            self.tracker.blocked();
            self.now_ns += look_ns;
            self.complete();
        }
    }
}

#[test]
fn cap_is_time_or_eight_datagrams() {
    let mut path = Path::new(62_500_000);
    assert_eq!(path.tracker.limiter.limit(), 1_000_000, "nothing measured");
    path.run(400, MS / 10);
    let limit = path.tracker.limiter.limit();
    assert!((55_000..=70_000).contains(&limit), "500 Mbit/s: {limit}");
    // Two datagrams in this time: a late thread would starve it. Small ones have no influence.
    path.bytes_per_s = 2_500_000;
    path.run(2_000, MS / 10);
    assert_eq!(path.tracker.limiter.limit(), MIN_BYTES);
    path.send(80);
    assert_eq!(path.tracker.limiter.limit(), MIN_BYTES);
    // It recovers although the sender is late by more than the cap.
    path.bytes_per_s = 62_500_000;
    path.run(4_000, 2 * MS);
    let limit = path.tracker.limiter.limit();
    assert!(limit > 50_000, "500 Mbit/s again: {limit}");
}

#[test]
fn token_bucket_bursts_are_not_an_immediate_path() {
    for limit in ["dql", "taut"] {
        let rule = limit.parse::<AnyLimit>().expect("a rule");
        let mut path = Path::under(rule, 62_500_000);
        path.burst_ns = MS;
        path.run(2_000, MS);
        let before = path.tracker.totals;
        path.run(1_000, MS);
        let after = path.tracker.totals;
        let quality = path.tracker.detector.quality;
        assert_ne!(quality, CompletionQuality::Immediate, "{limit}");
        assert!(after.quality_changes <= 1, "{limit}");
        let moved = after.completed_bytes - before.completed_bytes;
        assert!(moved > 62_500_000 * 98 / 100, "{limit}: {moved}");
    }
}

#[test]
fn changed_source_keeps_totals_and_resets_quality() {
    let mut path = Path::new(2_500_000);
    path.run(100, MS);
    path.tracker
        .change_source(Source::Polled, 7, false, path.now_ns);
    assert_eq!(
        path.tracker.source(),
        Source::ZeroCopy,
        "something is in flight"
    );
    path.now_ns += 1_000 * MS;
    while let Some((id, _)) = path.objects.pop_front() {
        let on_departure = ErrorQueueEntry::Released {
            first: id,
            last: id,
            copied: false,
        };
        path.tracker
            .error_queue_entry(&on_departure, path.now_ns, &mut |_| {});
    }
    let _ = path.tracker.end_batch(path.now_ns, &mut |_| {});
    let before = path.tracker.totals;
    assert_eq!(
        path.tracker.detector.quality,
        CompletionQuality::BufferFreed
    );
    path.tracker
        .change_source(Source::Polled, 7, false, path.now_ns);
    let tracker = &mut path.tracker;
    assert_eq!(
        (
            tracker.source(),
            tracker.detector.quality,
            tracker.objects.next()
        ),
        (Source::Polled, CompletionQuality::Unknown, 7)
    );
    assert_eq!(tracker.totals, before);
    assert_eq!(tracker.limiter.rate.units_per_s(), 0);
    // A stale notification completes nothing.
    let stale = ErrorQueueEntry::Released {
        first: 0,
        last: 9,
        copied: false,
    };
    tracker.queue(1_000, 1, path.now_ns, path.now_ns);
    tracker.error_queue_entry(&stale, path.now_ns, &mut |_| {});
    assert_eq!(tracker.limiter.in_flight(), 1_000);
    tracker.level(0, path.now_ns, &mut |_| {});
    let _ = tracker.end_batch(path.now_ns, &mut |_| {});
    assert_eq!(tracker.limiter.in_flight(), 0);
}
