//! A saturated sender on a link of 1 Gbit/s with 1,514-byte packets: the steady limit for given
//! completion times. The values are those of the specification.

use taut_dql::Dql;

const PACKET_BYTES: u32 = 1514;
/// 125 bytes per microsecond.
const NS_PER_BYTE: u64 = 8;
const US: u64 = 1000;

/// A device that sends one packet after another and reports when polled.
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
            dql.completed(bytes, now_ns).expect("units in flight");
        }
    }
    Outcome {
        limit: dql.limit(),
        idle_ns_in_last_half: wire.idle_ns - idle_at_half_ns,
    }
}

#[test]
fn even_completions_converge_to_two_intervals() {
    let outcome = saturate(100_000, |_| 100 * US);
    assert_eq!(outcome.limit, 25_738);
    assert_eq!(outcome.idle_ns_in_last_half, 0);
}

#[test]
fn limit_is_two_intervals_plus_two_packets() {
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

/// A random gap in a hundred: splitmix64, a small reproducible generator.
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
fn rare_long_gaps_set_the_limit_for_good() {
    for seed in 1..=5 {
        let limit_after = |gaps| saturate(gaps, stretched_by_chance(seed)).limit;
        assert_eq!(limit_after(100_000), 249_810, "seed {seed}");
        assert_eq!(limit_after(400_000), 249_810, "seed {seed}");
        // Two consecutive long gaps contain 165 or 166 packets.
        assert!(
            [249_810, 251_324].contains(&limit_after(200_000)),
            "seed {seed}"
        );
    }
}

/// The same fraction of long gaps, but never two in a row: the limit need not cover two of them.
#[test]
fn separate_long_gaps_need_a_smaller_limit() {
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
