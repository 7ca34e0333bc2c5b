//! A saturated sender on a link of 1 Gbit/s with 1,514-byte packets: where the limit settles when
//! completions are reported at certain times only. The figures are those of the specification.

use taut_dql::Dql;

const PACKET_BYTES: u32 = 1514;
/// 125 bytes each microsecond.
const NS_PER_BYTE: u64 = 8;
const US: u64 = 1000;

/// A device that sends one packet after the other, and reports only when asked.
#[derive(Default)]
struct Wire {
    finish_ns: std::collections::VecDeque<u64>,
    free_at_ns: u64,
    idle_ns: u64,
}

impl Wire {
    fn send(&mut self, bytes: u32, now_ns: u64) {
        let start_ns = self.free_at_ns.max(now_ns);
        self.idle_ns += start_ns - self.free_at_ns;
        self.free_at_ns = start_ns + u64::from(bytes) * NS_PER_BYTE;
        self.finish_ns.push_back(self.free_at_ns);
    }

    fn reap(&mut self, now_ns: u64) -> u32 {
        let finished = self
            .finish_ns
            .iter()
            .take_while(|at_ns| **at_ns <= now_ns)
            .count();
        self.finish_ns.drain(..finished);
        finished as u32 * PACKET_BYTES
    }
}

struct Outcome {
    limit: u32,
    idle_ns_in_last_half: u64,
}

/// Runs `gaps` completion intervals, with the length of each from `gap_ns`.
fn saturate(gaps: u64, gap_ns: impl Fn(u64) -> u64) -> Outcome {
    let mut dql = Dql::new(0);
    let mut wire = Wire::default();
    let mut now_ns = 0;
    let mut idle_at_half_ns = 0;
    for gap in 0..gaps {
        while dql.has_room() {
            dql.queued(PACKET_BYTES).expect("a packet");
            wire.send(PACKET_BYTES, now_ns);
        }
        if gap == gaps / 2 {
            idle_at_half_ns = wire.idle_ns;
        }
        now_ns += gap_ns(gap);
        let bytes = wire.reap(now_ns);
        if bytes > 0 {
            dql.completed(bytes, now_ns).expect("what was in flight");
        }
    }
    Outcome {
        limit: dql.limit(),
        idle_ns_in_last_half: wire.idle_ns - idle_at_half_ns,
    }
}

#[test]
fn even_completions_settle_at_twice_an_interval() {
    let outcome = saturate(100_000, |_| 100 * US);
    assert_eq!(outcome.limit, 25_738);
    assert_eq!(outcome.idle_ns_in_last_half, 0);
}

#[test]
fn every_interval_settles_between_twice_and_two_packets_more() {
    for interval_us in [13, 20, 50, 100, 150, 250, 700, 1000] {
        let outcome = saturate(60_000, |_| interval_us * US);
        let twice = (2 * interval_us * US / NS_PER_BYTE) as u32;
        let range = twice.max(2 * PACKET_BYTES)..=twice + 2 * PACKET_BYTES;
        assert!(
            range.contains(&outcome.limit),
            "{interval_us} us: {} in {range:?}",
            outcome.limit
        );
        assert_eq!(outcome.idle_ns_in_last_half, 0, "{interval_us} us");
    }
}

/// One gap in a hundred, by chance: splitmix64, a generator small enough to repeat anywhere.
fn stretched_by_chance(seed: u64) -> impl Fn(u64) -> u64 {
    move |gap| {
        let mut x = seed.wrapping_add(gap.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        if (x ^ (x >> 31)) % 100 == 0 {
            1000 * US
        } else {
            100 * US
        }
    }
}

#[test]
fn one_gap_in_a_hundred_stretched_by_chance_sets_the_limit_and_it_stays() {
    for seed in 1..=5 {
        let limit_after = |gaps| saturate(gaps, stretched_by_chance(seed)).limit;
        assert_eq!(limit_after(100_000), 249_810, "seed {seed}");
        assert_eq!(limit_after(400_000), 249_810, "seed {seed}");
        // Two long gaps in a row hold 165 or 166 packets, as it falls.
        assert!(
            [249_810, 251_324].contains(&limit_after(200_000)),
            "seed {seed}"
        );
    }
}

/// The same share of long gaps, but never two in a row: the limit need not hold two of them.
#[test]
fn long_gaps_that_never_meet_need_less() {
    let outcome = saturate(
        400_000,
        |gap| if gap % 100 == 99 { 1000 * US } else { 100 * US },
    );
    assert!(
        (125_000..249_810).contains(&outcome.limit),
        "{}",
        outcome.limit
    );
    assert_eq!(outcome.idle_ns_in_last_half, 0);
}
