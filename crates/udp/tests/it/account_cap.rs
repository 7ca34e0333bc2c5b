//! The cap in time, and sources that are changed, in virtual time.

use std::collections::VecDeque;

use taut_path::AnyLimit;
use taut_udp::account::{Account, Settings};
use taut_udp::{Completions, Signal, Source};

const MS: u64 = 1_000_000;
const FULL_BYTES: u32 = 1_514;
/// What a cap leaves at least.
const LEAST_BYTES: u32 = 8 * FULL_BYTES;

/// A path that sends one object after the other, and a sender that always has more.
struct Path {
    account: Account,
    bytes_per_s: u64,
    now_ns: u64,
    /// Numbers and when each is sent whole.
    objects: VecDeque<(u32, u64)>,
}

impl Path {
    fn new(bytes_per_s: u64) -> Self {
        let settings = Settings {
            limit: AnyLimit::bytes(1_000_000),
            source: Source::ZeroCopy,
            cap_ns: MS,
            ..Settings::default()
        };
        Self {
            account: Account::new(&settings, 0),
            bytes_per_s,
            now_ns: 0,
            objects: VecDeque::new(),
        }
    }

    fn send(&mut self, bytes: u32) {
        let id = self.account.queue(bytes, 1, self.now_ns, self.now_ns);
        self.account.look(true);
        let begins_ns = self.objects.back().map_or(0, |it| it.1).max(self.now_ns);
        let ns = u64::from(bytes) * 1_000_000_000 / self.bytes_per_s;
        self.objects.push_back((id, begins_ns + ns));
    }

    /// For `ms`, with looks at what completed each `look_ns`. Of each three datagrams one is small, as
    /// where several connections share a socket.
    fn run(&mut self, ms: u64, look_ns: u64) {
        let end_ns = self.now_ns + ms * MS;
        while self.now_ns < end_ns {
            while self.account.has_room(self.now_ns) {
                let small = self.account.totals().sent_objects.is_multiple_of(3);
                self.send(if small { 80 } else { FULL_BYTES });
            }
            self.account.refused();
            self.now_ns += look_ns;
            while let Some(&(id, done_ns)) = self.objects.front()
                && done_ns <= self.now_ns
            {
                self.objects.pop_front();
                let told = Signal::Released {
                    first: id,
                    last: id,
                    copied: false,
                };
                self.account.signal(&told, self.now_ns, &mut |_| {});
            }
            let _ = self.account.end_round(self.now_ns, &mut |_| {});
        }
    }
}

#[test]
fn a_cap_holds_what_the_path_moves_in_its_time_and_never_less_than_eight_datagrams() {
    let mut path = Path::new(62_500_000);
    assert_eq!(path.account.limit(), 1_000_000, "nothing measured");
    path.run(400, MS / 10);
    let limit = path.account.limit();
    assert!((55_000..=70_000).contains(&limit), "500 Mbit/s: {limit}");
    // Two datagrams in the time: a late thread would starve it. Small ones change nothing.
    path.bytes_per_s = 2_500_000;
    path.run(2_000, MS / 10);
    assert_eq!(path.account.limit(), LEAST_BYTES);
    path.send(80);
    assert_eq!(path.account.limit(), LEAST_BYTES);
    // It grows back although the sender is late by more than the cap.
    path.bytes_per_s = 62_500_000;
    path.run(4_000, 2 * MS);
    let limit = path.account.limit();
    assert!(limit > 50_000, "500 Mbit/s again: {limit}");
}

#[test]
fn another_source_goes_on_with_the_totals_and_a_new_verdict() {
    let mut path = Path::new(2_500_000);
    path.run(100, MS);
    path.account
        .change_source(Source::Polled, 7, false, path.now_ns);
    assert_eq!(
        path.account.source(),
        Source::ZeroCopy,
        "something is in flight"
    );
    path.now_ns += 1_000 * MS;
    while let Some((id, _)) = path.objects.pop_front() {
        let told = Signal::Released {
            first: id,
            last: id,
            copied: false,
        };
        path.account.signal(&told, path.now_ns, &mut |_| {});
    }
    let _ = path.account.end_round(path.now_ns, &mut |_| {});
    let before = path.account.totals();
    assert_eq!(path.account.verdict(), Completions::BufferFreed);
    path.account
        .change_source(Source::Polled, 7, false, path.now_ns);
    let account = &mut path.account;
    assert_eq!(
        (account.source(), account.verdict(), account.next_id()),
        (Source::Polled, Completions::Unknown, 7)
    );
    assert_eq!(account.totals(), before);
    assert_eq!(account.rate(), 0);
    // A notification of before is none of its own.
    let stale = Signal::Released {
        first: 0,
        last: 9,
        copied: false,
    };
    account.queue(1_000, 1, path.now_ns, path.now_ns);
    account.signal(&stale, path.now_ns, &mut |_| {});
    assert_eq!(account.in_flight(), 1_000);
    account.level(0, path.now_ns, &mut |_| {});
    let _ = account.end_round(path.now_ns, &mut |_| {});
    assert_eq!(account.in_flight(), 0);
}
