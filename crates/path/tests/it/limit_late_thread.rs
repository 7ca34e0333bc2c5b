//! One thread sends and reaps, and is woken late by random times.

use crate::support::Random;
use crate::support::rule::Ruled;
use taut_path::limit::{Limit, LossBudget};

const US: u64 = 1_000;
const SECOND_NS: u64 = 1_000_000_000;
const OBJECT: u32 = 1_242;
/// 100 Mbit/s.
const OBJECT_NS: u64 = OBJECT as u64 * 80;

/// Returns a wake-up after one to two of `sleep_ns`, and one in twenty 1 to 4 ms later.
fn wakeup_ns(random: &mut Random, sleep_ns: u64) -> u64 {
    let late_ns = if random.below(20) == 0 {
        1_000 * US + random.below(3_000 * US)
    } else {
        0
    };
    sleep_ns + random.below(sleep_ns) + late_ns
}

/// A shaper of 100 Mbit/s with a bucket, in ns of the link.
struct Shaper {
    tokens_ns: u64,
    max_tokens_ns: u64,
    lost_ns: u64,
}

impl Shaper {
    fn new(bucket_bytes: u64) -> Self {
        Self {
            tokens_ns: bucket_bytes * 80,
            max_tokens_ns: bucket_bytes * 80,
            lost_ns: 0,
        }
    }

    /// Time passes with `queued` objects. Returns how many of them leave.
    fn pass(&mut self, span_ns: u64, queued: u64) -> u64 {
        let tokens_ns = self.tokens_ns + span_ns;
        let sent = (tokens_ns / OBJECT_NS).min(queued);
        let left_ns = tokens_ns - sent * OBJECT_NS;
        self.tokens_ns = left_ns.min(self.max_tokens_ns.max(OBJECT_NS));
        self.lost_ns += left_ns - self.tokens_ns;
        sent
    }
}

/// Sends for two seconds. Returns the share of the second one in which the link was busy, in ppm.
fn busy_ppm<L: Limit>(rule: L, sleep_ns: u64, bucket_bytes: u64, seed: u64) -> u64 {
    let mut ruled = Ruled::new(rule);
    let mut random = Random(seed * 7_919 + 1);
    let mut shaper = Shaper::new(bucket_bytes);
    let (mut now_ns, mut sent, mut lost_ns) = (0, 0, 0);
    while now_ns < 2 * SECOND_NS {
        if now_ns < SECOND_NS {
            lost_ns = shaper.lost_ns;
        }
        let left = |ruled: &Ruled<L>, sent: u64| u64::from(ruled.in_flight() / OBJECT) - sent;
        if ruled.has_room() {
            ruled.queued(OBJECT, now_ns).expect("countable");
            now_ns += US;
            sent += shaper.pass(US, left(&ruled, sent));
        } else if sent > 0 {
            // Objects that leave at once complete before the sender is blocked.
            ruled.completed(sent as u32 * OBJECT, now_ns, false);
            sent = 0;
        } else {
            ruled.refused();
            let span_ns = wakeup_ns(&mut random, sleep_ns);
            now_ns += span_ns;
            sent += shaper.pass(span_ns, left(&ruled, sent));
        }
    }
    1_000_000 - (shaper.lost_ns - lost_ns) * 1_000_000 / SECOND_NS
}

/// A bucket completes objects at once, so few batches begin and end with a blocked sender. The
/// rule once measured only those, and kept a limit of one object for 11 % of the link.
#[test]
fn link_stays_busy_with_a_late_thread() {
    for sleep_ns in [60 * US, 300 * US, 1_000 * US] {
        for bucket_bytes in [0, 2_500, 16_000, 64_000] {
            for seed in 1..=5 {
                let ppm = busy_ppm(LossBudget::default(), sleep_ns, bucket_bytes, seed);
                assert!(
                    ppm >= 995_000,
                    "{ppm} ppm: {sleep_ns} ns, bucket {bucket_bytes}, seed {seed}"
                );
            }
        }
    }
}

/// A device that reports all objects at once, and a sender that returns 10 ms after each report.
/// The time from the return to the report contains the queue itself, so without a bound the limit
/// justifies its own growth: up to ten seconds of the link for a loss of 0.1 %.
#[test]
fn limit_does_not_justify_its_own_growth() {
    let mut ruled = Ruled::new(LossBudget::default());
    let (mut now_ns, mut max_bytes) = (0, 0);
    while now_ns < 120 * SECOND_NS {
        while ruled.has_room() {
            ruled.queued(OBJECT, now_ns).expect("countable");
        }
        ruled.refused();
        let bytes = ruled.in_flight();
        now_ns += u64::from(bytes) * 80;
        ruled.completed(bytes, now_ns, false);
        max_bytes = max_bytes.max(bytes);
        now_ns += 10_000 * US;
    }
    // 60 ms of the link, doubled by a probe, and the object that crosses it. Without the bound it
    // is 26 MB.
    let bound_bytes = 2 * 60_000 * US / 80 + u64::from(OBJECT);
    assert!(u64::from(max_bytes) <= bound_bytes, "{max_bytes}");
}
