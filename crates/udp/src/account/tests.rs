//! The state machine with a mock kernel: ids wrap, and notifications arrive merged, late, out of
//! order, twice, or never.

use std::collections::BTreeSet;

use proptest::prelude::*;
use taut_path::AnyLimit;

use super::{Departure, Settings, SocketTracker};
use crate::error_queue_entry::ErrorQueueEntry;
use crate::quality::{CompletionQuality, Source};

const MS: u64 = 1_000_000;
const REAL_NS: u64 = 1_700_000_000_000_000_000;

/// The tracker, and the state of the kernel.
struct Played {
    tracker: SocketTracker,
    now_ns: u64,
    /// Sent and not completed by the kernel, by position since the start.
    held: Vec<u64>,
    /// Completed by the kernel, with the notification lost or pending.
    notifications: Vec<u64>,
    sizes: Vec<u32>,
    departed: BTreeSet<u64>,
    first: u32,
}

impl Played {
    fn new(source: Source, first: u32) -> Self {
        let settings = Settings {
            limit: AnyLimit::dql(),
            source,
            ..Settings::default()
        };
        let mut tracker = SocketTracker::new(settings, 0);
        tracker.change_source(source, first, false, 0);
        Self {
            tracker,
            now_ns: 0,
            held: vec![],
            notifications: vec![],
            sizes: vec![],
            departed: BTreeSet::new(),
            first,
        }
    }

    fn id(&self, position: u64) -> u32 {
        self.first.wrapping_add(position as u32)
    }

    fn send(&mut self, bytes: u32) {
        let real_ns = REAL_NS + self.now_ns;
        let id = self.tracker.queue(bytes, 1, self.now_ns, real_ns);
        let position = self.sizes.len() as u64;
        assert_eq!(id, self.id(position));
        self.tracker.returned(1, real_ns + 1_000);
        self.sizes.push(bytes);
        self.held.push(position);
    }

    fn round(&mut self, feed: impl FnOnce(&mut SocketTracker, u64, &mut dyn FnMut(Departure))) {
        let (first, departed) = (self.first, &mut self.departed);
        let mut on_departure = |departure: Departure| {
            let position = u64::from(departure.id.wrapping_sub(first));
            assert!(departed.insert(position), "{position} departed twice");
        };
        feed(&mut self.tracker, self.now_ns, &mut on_departure);
        let _ = self.tracker.end_batch(self.now_ns, &mut on_departure);
    }

    fn signal(&mut self, signal: ErrorQueueEntry) {
        self.round(|tracker, now_ns, on_departure| {
            tracker.error_queue_entry(&signal, now_ns, on_departure)
        });
    }

    /// No byte is invented, and none leaks.
    fn check(&self) {
        let departed: u64 = self
            .departed
            .iter()
            .map(|&it| u64::from(self.sizes[it as usize]))
            .sum();
        let sent: u64 = self.sizes.iter().copied().map(u64::from).sum();
        let totals = self.tracker.totals;
        assert_eq!(totals.sent_bytes, sent);
        assert_eq!(totals.completed_bytes, departed);
        assert_eq!(u64::from(self.tracker.objects.bytes()), sent - departed);
        assert_eq!(
            self.tracker.limiter.in_flight(),
            self.tracker.objects.bytes()
        );
    }
}

#[test]
fn level_is_read_after_20_ms_of_silence() {
    let mut played = Played::new(Source::Timestamps, 0);
    played.send(1_000);
    assert!(!played.tracker.needs_level(20 * MS - 1));
    assert!(played.tracker.needs_level(20 * MS));
}

#[test]
fn overtaken_objects_are_lost_after_their_time() {
    for (source, time_ns) in [(Source::Timestamps, 50 * MS), (Source::ZeroCopy, 500 * MS)] {
        let mut played = Played::new(source, 0);
        played.send(1_000);
        played.send(1_000);
        played.signal(ErrorQueueEntry::Released {
            first: 1,
            last: 1,
            copied: false,
        });
        played.signal(ErrorQueueEntry::Left {
            id: 1,
            at_real_ns: REAL_NS + 2_000,
        });
        for (now_ns, lost) in [(time_ns - 1, 0), (time_ns, 1)] {
            played.now_ns = now_ns;
            played.round(|_, _, _| {});
            assert_eq!(played.tracker.totals.lost_completions, lost, "{source:?}");
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(u32),
    /// Several sends, of which the kernel accepts only the first.
    SendAndTakeBack(u32, usize),
    /// The kernel completes the n-th object that it holds, and notifies later.
    Complete(usize),
    /// The n-th notification arrives.
    Notification(usize),
    /// It arrives twice.
    NotificationTwice(usize),
    /// It never arrives.
    Lost(usize),
    /// An id that was never sent.
    Nonsense(u32),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any_number = any::<usize>;
    let step = prop_oneof![
        5 => (40_u32..60_000).prop_map(Step::Send),
        1 => (40_u32..2_000, 1_usize..20)
            .prop_map(|(bytes, more)| Step::SendAndTakeBack(bytes, more)),
        5 => any_number().prop_map(Step::Complete),
        4 => any_number().prop_map(Step::Notification),
        1 => any_number().prop_map(Step::NotificationTwice),
        1 => any_number().prop_map(Step::Lost),
        1 => any::<u32>().prop_map(Step::Nonsense),
        3 => (1_u64..30).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..300)
}

fn play(source: Source, first: u32, steps: Vec<Step>) -> Played {
    let mut played = Played::new(source, first);
    let notifications = |played: &Played, position: u64| {
        let id = played.id(position);
        match source {
            Source::ZeroCopy => ErrorQueueEntry::Released {
                first: id,
                last: id,
                copied: false,
            },
            _ => ErrorQueueEntry::Left {
                id,
                at_real_ns: REAL_NS + played.now_ns,
            },
        }
    };
    for step in steps {
        match step {
            Step::Send(bytes) => played.send(bytes),
            Step::SendAndTakeBack(bytes, more) => {
                played.send(bytes);
                for _ in 0..more {
                    played.tracker.queue(bytes, 1, played.now_ns, REAL_NS);
                }
                played.tracker.unqueue(more);
            }
            Step::Complete(nth) if !played.held.is_empty() => {
                let position = played.held.remove(nth % played.held.len());
                played.notifications.push(position);
            }
            Step::Notification(nth) | Step::NotificationTwice(nth)
                if !played.notifications.is_empty() =>
            {
                let position = played
                    .notifications
                    .remove(nth % played.notifications.len());
                let signal = notifications(&played, position);
                played.signal(signal);
                if matches!(step, Step::NotificationTwice(_)) {
                    played.signal(signal);
                }
            }
            Step::Lost(nth) if !played.notifications.is_empty() => {
                let nth = nth % played.notifications.len();
                played.notifications.remove(nth);
            }
            Step::Nonsense(far) => {
                let id = played
                    .tracker
                    .objects
                    .next()
                    .wrapping_add(far % (u32::MAX / 4));
                played.signal(ErrorQueueEntry::Left { id, at_real_ns: 0 });
            }
            Step::Wait(ms) => {
                played.now_ns += ms * MS;
                played.round(|_, _, _| {});
            }
            _ => {}
        }
        played.check();
    }
    played
}

proptest! {
    #[test]
    fn stamps_neither_leak_nor_invent_bytes(
        first in prop_oneof![Just(0), Just(u32::MAX - 20), any::<u32>()],
        steps in steps(),
    ) {
        let mut played = play(Source::Timestamps, first, steps);
        // The kernel completes the remaining objects without notification. At each wake-up, the
        // tracker finds the socket empty.
        let mut looks = 0;
        while let Some(wakeup_ns) = played.tracker.next_wakeup() {
            played.now_ns = played.now_ns.max(wakeup_ns);
            looks += 1;
            prop_assert!(looks < 10, "asks for ever");
            let empty = played.tracker.needs_level(played.now_ns);
            played.round(|tracker, now_ns, on_departure| {
                if empty {
                    tracker.level(0, now_ns, on_departure)
                }
            });
        }
        played.check();
        prop_assert_eq!(played.tracker.limiter.in_flight(), 0);
        prop_assert_eq!(played.departed.len(), played.sizes.len());
    }

    #[test]
    fn reordered_notifications_conserve_bytes(
        first in prop_oneof![Just(0), Just(u32::MAX - 20)],
        steps in steps(),
    ) {
        let mut played = play(Source::ZeroCopy, first, steps);
        // A level of 0 proves nothing for zero-copy this early.
        let before = played.departed.len();
        let notifications = played.tracker.needs_level(played.now_ns);
        played.round(|tracker, now_ns, on_departure| {
            if !notifications {
                tracker.level(0, now_ns, on_departure)
            }
        });
        let lost = played.tracker.totals.lost_completions as usize;
        prop_assert!(played.departed.len() - before <= lost);
        // All remaining ids in one range, which exceeds the assigned ids.
        let (low, high) = (first.wrapping_sub(5), played.tracker.objects.next().wrapping_add(5));
        played.signal(ErrorQueueEntry::Released { first: low, last: high, copied: true });
        prop_assert_eq!(played.tracker.limiter.in_flight(), 0);
        prop_assert_eq!(played.departed.len(), played.sizes.len());
    }

    #[test]
    fn merged_ranges_complete_each_once(cuts in prop::collection::vec(1_u32..40, 1..30)) {
        let mut played = Played::new(Source::ZeroCopy, u32::MAX - 100);
        let mut at = u32::MAX - 100;
        for length in cuts {
            for _ in 0..length {
                played.send(1000);
            }
            let last = at.wrapping_add(length - 1);
            played.signal(ErrorQueueEntry::Released { first: at, last, copied: false });
            at = last.wrapping_add(1);
            played.check();
            prop_assert_eq!(played.tracker.limiter.in_flight(), 0);
        }
    }

    #[test]
    fn levels_complete_the_oldest(
        sizes in prop::collection::vec(100_u32..1500, 1..100),
        left in 0_usize..100,
    ) {
        let mut played = Played::new(Source::Polled, 0);
        for &size in &sizes {
            played.send(size);
        }
        prop_assert_eq!(played.tracker.next_wakeup(), Some(MS));
        let left = left.min(sizes.len());
        // The kernel's memory for the newest, as the tracker estimates it without measurements.
        let level: u32 = sizes.iter().rev().take(left).map(|size| size + 768).sum();
        played.round(|tracker, now_ns, on_departure| tracker.level(level, now_ns, on_departure));
        prop_assert_eq!(played.departed.len(), sizes.len() - left);
        prop_assert!(played.departed.iter().copied().eq(0..(sizes.len() - left) as u64));
        played.round(|tracker, now_ns, on_departure| tracker.level(0, now_ns, on_departure));
        prop_assert_eq!(played.tracker.limiter.in_flight(), 0);
    }
}

fn stamp(id: u32, after_ns: u64) -> ErrorQueueEntry {
    ErrorQueueEntry::Left {
        id,
        at_real_ns: REAL_NS + after_ns,
    }
}

#[test]
fn lost_timestamp_is_replaced_after_later_departures() {
    let mut played = Played::new(Source::Timestamps, u32::MAX);
    for _ in 0..4 {
        played.send(1000);
    }
    let mut how = vec![];
    let mut round = |played: &mut Played, signal: Option<ErrorQueueEntry>| {
        let mut on_departure = |departure: Departure| how.push((departure.id, departure.lost));
        if let Some(signal) = signal {
            played
                .tracker
                .error_queue_entry(&signal, played.now_ns, &mut on_departure);
        }
        let _ = played.tracker.end_batch(played.now_ns, &mut on_departure);
    };
    played.now_ns = 2 * MS;
    round(&mut played, Some(stamp(1, 2 * MS)));
    assert_eq!(
        played.tracker.limiter.in_flight(),
        3000,
        "others may still come"
    );
    played.now_ns = 100 * MS;
    round(&mut played, None);
    assert_eq!(
        played.tracker.limiter.in_flight(),
        1000,
        "but not after so long"
    );
    assert_eq!(how, [(1, false), (u32::MAX, true), (0, true)]);
    assert_eq!(played.tracker.totals.lost_completions, 2);
    // One of them arrives late.
    played.signal(stamp(0, 101 * MS));
    assert_eq!(played.tracker.limiter.in_flight(), 1000);
    assert_eq!(played.tracker.totals.stale_completions, 1);
}

#[test]
fn reordering_within_the_wait_is_not_a_loss() {
    let mut played = Played::new(Source::Timestamps, 0);
    // The second of each pair leaves first, and the first only after the second of the next pair.
    // So there is always an overtaken object, but none for more than 10 ms.
    for pair in 0..50 {
        played.send(1000);
        played.send(1000);
        played.now_ns += 10 * MS;
        played.signal(stamp(2 * pair + 1, played.now_ns));
        if pair > 0 {
            played.signal(stamp(2 * pair - 2, played.now_ns));
        }
    }
    assert_eq!(played.tracker.totals.lost_completions, 0);
    assert_eq!(played.tracker.limiter.in_flight(), 1000);
}

#[test]
fn dropped_datagram_might_have_an_id() {
    let mut played = Played::new(Source::ZeroCopy, u32::MAX);
    played.send(1000);
    played.tracker.skip_id();
    let id = played.tracker.queue(500, 1, 0, REAL_NS);
    assert_eq!(id, 1);
    let all = ErrorQueueEntry::Released {
        first: u32::MAX,
        last: 1,
        copied: false,
    };
    let mut bytes = vec![];
    played
        .tracker
        .error_queue_entry(&all, 0, &mut |departure| bytes.push(departure.bytes));
    let _ = played.tracker.end_batch(0, &mut |_| {});
    assert_eq!(
        (bytes, played.tracker.limiter.in_flight()),
        (vec![1000, 500], 0)
    );
}

#[test]
fn sojourn_is_the_stamps_and_not_the_lookers() {
    let mut played = Played::new(Source::Timestamps, 0);
    played.send(1000);
    let mut seen = None;
    played.now_ns = 70 * MS;
    let on_departure = &mut |departure| seen = Some(departure);
    played
        .tracker
        .error_queue_entry(&stamp(0, 5 * MS), played.now_ns, on_departure);
    let seen = seen.expect("departed");
    assert_eq!(seen.sojourn_ns, 5 * MS);
    assert!(!seen.lost);
}

#[test]
fn immediate_path_is_unlimited_until_packets_queue() {
    let mut played = Played::new(Source::Timestamps, 0);
    let send_and_leave = |played: &mut Played, wait_ns: u64| {
        played.now_ns += 2_000;
        played.send(1242);
        let id = played.tracker.objects.next().wrapping_sub(1);
        let at_ns = played.now_ns + wait_ns;
        played.now_ns = at_ns + 1_500;
        played.signal(stamp(id, at_ns));
    };
    while played.now_ns < 110 * MS {
        send_and_leave(&mut played, 500);
    }
    assert_eq!(
        played.tracker.detector.quality,
        CompletionQuality::Immediate
    );
    let first = played.tracker.objects.next();
    for _ in 0..50 {
        played.send(1242);
    }
    assert!(played.tracker.has_room(played.now_ns), "limits nothing");
    for id in first..first + 50 {
        played.signal(stamp(id, played.now_ns));
    }
    for _ in 0..20 {
        send_and_leave(&mut played, 500_000);
    }
    assert_eq!(
        played.tracker.detector.quality,
        CompletionQuality::Transmitted
    );
    for _ in 0..50 {
        if played.tracker.has_room(played.now_ns) {
            played.send(1242);
        }
    }
    assert!(!played.tracker.has_room(played.now_ns), "limits again");
}

#[test]
fn stall_is_reported_and_admits_one_object() {
    let mut played = Played::new(Source::ZeroCopy, 0);
    while played.tracker.has_room(0) {
        played.send(1000);
    }
    let (mut reported_at, mut let_through) = (None, 0);
    for _ in 0..10 {
        played.now_ns = played
            .tracker
            .next_wakeup()
            .expect("something is in flight");
        if played.tracker.needs_level(played.now_ns) {
            // Something is still in the socket's memory.
            played.tracker.level(1, played.now_ns, &mut |_| {});
            played.tracker.level_was_read(played.now_ns);
        }
        let done = played.tracker.end_batch(played.now_ns, &mut |_| {});
        if done.stalled.is_some() {
            reported_at.get_or_insert(played.now_ns);
        }
        while played.tracker.has_room(played.now_ns) {
            played.send(1000);
            let_through += 1;
        }
    }
    assert!(
        reported_at.expect("reported") <= 2_000 * MS,
        "{reported_at:?}"
    );
    assert!((5..=10).contains(&let_through), "{let_through}");
    assert_eq!(played.tracker.totals.stalls, 1);
    let last = played.tracker.objects.next().wrapping_sub(1);
    played.signal(ErrorQueueEntry::Released {
        first: 0,
        last,
        copied: false,
    });
    assert_eq!(played.tracker.limiter.in_flight(), 0);
    assert!(played.tracker.next_wakeup().is_none());
}

#[test]
fn unreported_object_completes_with_the_next() {
    let mut played = Played::new(Source::Timestamps, u32::MAX - 1);
    for quiet in [true, true, false, true, false] {
        played.send(1000);
        if quiet {
            played.tracker.make_last_unreported();
        }
    }
    played.signal(stamp(0, MS));
    played.check();
    assert_eq!(played.tracker.limiter.in_flight(), 2000);
    played.signal(stamp(2, 2 * MS));
    assert_eq!(played.tracker.limiter.in_flight(), 0);
    assert_eq!(played.tracker.totals.stale_completions, 0);
}

#[test]
fn a_limit_in_packets_counts_datagrams() {
    let settings = Settings {
        limit: AnyLimit::packets(4),
        ..Settings::default()
    };
    let mut tracker = SocketTracker::new(settings, 0);
    tracker.queue(2_000, 3, 0, REAL_NS);
    assert_eq!(
        (tracker.limiter.in_flight(), tracker.has_room(0)),
        (3, true)
    );
    tracker.queue(1_000, 1, 0, REAL_NS);
    assert_eq!(
        (tracker.limiter.in_flight(), tracker.has_room(0)),
        (4, false)
    );
}

#[test]
fn lost_notification_is_replaced_after_silence_or_overtaking() {
    let mut played = Played::new(Source::ZeroCopy, 0);
    played.send(1000);
    // Stall detection admits one more, which is not notified either.
    let mut looks = 0;
    while played.tracker.limiter.in_flight() > 0 {
        played.now_ns = played.tracker.next_wakeup().expect("it looks again");
        let asks = played.tracker.needs_level(played.now_ns);
        played.round(|tracker, now_ns, on_departure| {
            if asks {
                tracker.level(0, now_ns, on_departure)
            }
        });
        looks += 1;
        assert!(looks < 10, "for ever");
    }
    assert!(played.now_ns >= 2_000 * MS, "a stall is on_departure first");
    assert_eq!(played.tracker.totals.stalls, 1);
    assert_eq!(played.tracker.totals.lost_completions, 1);
    // A completion proves that the previous one was lost, after a long wait.
    played.send(1000);
    played.send(1000);
    let released = |id| ErrorQueueEntry::Released {
        first: id,
        last: id,
        copied: false,
    };
    played.signal(released(2));
    played.now_ns += 400 * MS;
    played.round(|_, _, _| {});
    assert_eq!(
        played.tracker.limiter.in_flight(),
        1000,
        "a queue of some peer may hold it"
    );
    played.now_ns += 200 * MS;
    played.round(|_, _, _| {});
    assert_eq!(played.tracker.limiter.in_flight(), 0);
    assert_eq!(played.tracker.totals.lost_completions, 2);
    played.signal(released(1));
    assert_eq!(played.tracker.totals.stale_completions, 1);
}

#[test]
fn rejected_datagram_with_an_id_is_not_unknown() {
    let mut played = Played::new(Source::ZeroCopy, u32::MAX);
    played.send(1000);
    played.send(500);
    for (range, numbered) in [
        (Some((u32::MAX, u32::MAX)), false),
        (None, false),
        (Some((0, 1)), true),
        (Some((2, 2)), true),
    ] {
        let next = played.tracker.objects.next();
        played.tracker.expect_rejected_id();
        assert_eq!(played.tracker.newest_id(), next);
        if let Some((first, last)) = range {
            played.signal(ErrorQueueEntry::Released {
                first,
                last,
                copied: false,
            });
        }
        assert_eq!(played.tracker.take_rejected_id(), numbered, "{range:?}");
        assert_eq!(
            played.tracker.objects.next(),
            next.wrapping_add(u32::from(numbered))
        );
        assert_eq!(
            played.tracker.newest_id().wrapping_add(1),
            played.tracker.objects.next()
        );
    }
    let totals = played.tracker.totals;
    assert_eq!(
        (totals.stale_completions, totals.unknown_completions),
        (0, 0)
    );
    assert_eq!(
        (totals.completed_bytes, played.tracker.limiter.in_flight()),
        (1500, 0)
    );
}

#[test]
fn replaced_notifications_do_not_change_the_rule() {
    let mut played = Played::new(Source::Timestamps, 0);
    for round in 0..40 {
        assert!(!played.tracker.losses.are_most() || round >= 16, "{round}");
        played.send(1000);
        played.send(1000);
        played.tracker.blocked();
        played.now_ns += 30 * MS;
        played.round(|tracker, now_ns, on_departure| tracker.level(0, now_ns, on_departure));
        if played.tracker.losses.are_most() {
            break;
        }
    }
    assert!(played.tracker.losses.are_most());
    assert_eq!(played.tracker.limiter.limit(), 0, "nothing was learnt");
    assert_eq!(played.tracker.limiter.rate.units_per_s(), 0);
    played.check();
    // New completions count as before.
    let id = played.tracker.objects.next();
    for id in id..id + 32 {
        played.send(1000);
        played.now_ns += MS;
        played.tracker.blocked();
        played.signal(stamp(id, played.now_ns));
    }
    assert!(!played.tracker.losses.are_most());
    assert!(played.tracker.limiter.limit() > 0);
}

/// The wall clock goes back by a second between sending and leaving.
#[test]
fn reversed_wall_clock_is_reported_once() {
    let mut tracker = SocketTracker::new(Settings::default(), 0);
    let mut sojourns = Vec::new();
    for (back_ns, reported) in [(0, false), (1_000 * MS, true), (0, false)] {
        let sent_ns = 10_000 * MS;
        let ids = [0; 2].map(|_| tracker.queue(1_000, 1, sent_ns, REAL_NS));
        tracker.returned(2, REAL_NS + 1_000);
        for id in ids {
            let at_real_ns = REAL_NS + 5 * MS - back_ns;
            let left = ErrorQueueEntry::Left { id, at_real_ns };
            tracker.error_queue_entry(&left, sent_ns + 6 * MS, &mut |departure| {
                sojourns.push(departure.sojourn_ns / MS);
            });
        }
        let completed = tracker.end_batch(sent_ns + 6 * MS, &mut |_| {});
        assert_eq!(completed.clock_reversed, reported);
    }
    assert_eq!(sojourns, [5, 5, 6, 6, 5, 5]);
}

/// The datagram leaves between the reading of the clock and that of the error queue.
#[test]
fn sojourn_is_at_most_the_age() {
    let mut tracker = SocketTracker::new(Settings::default(), 0);
    let id = tracker.queue(1_000, 1, 10_000 * MS, REAL_NS);
    tracker.returned(1, REAL_NS + 1_000);
    let at_real_ns = REAL_NS + 7 * MS;
    let left = ErrorQueueEntry::Left { id, at_real_ns };
    let mut sojourn_ns = None;
    tracker.error_queue_entry(&left, 10_006 * MS, &mut |departure| {
        sojourn_ns = Some(departure.sojourn_ns);
    });
    assert_eq!(sojourn_ns, Some(6 * MS));
}
