//! The cost of a rule alone: the same loop for every rule, so that the difference to `none` is the
//! cost of the rule.
//!
//! PACKETS packets in BATCHES completion batches. The sender always has more to send and is blocked
//! in each batch. GAPS is even, jitter (half to one and a half) or rare (one batch in a hundred is
//! ten times longer).

use std::hint::black_box;

use taut_path::AnyLimit;
use taut_path::limit::{CompletionBatch, Dynamic, Fixed, Limit, LossBudget};

const PACKET_BYTES: u32 = 1514;
/// 1 Gbit/s.
const NS_PER_BYTE: u64 = 8;

/// No rule: it receives amounts and the clock, stores nothing, and always has room.
#[derive(Clone, Copy)]
struct Nothing;

impl Limit for Nothing {
    fn limit(&self) -> u32 {
        taut_dql::MAX_LIMIT
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        black_box(batch);
        self.limit()
    }

    fn reset(&mut self, _now_ns: u64) {}
}

/// Returns the packets of each batch, computed before the loop.
fn batches(gaps: &str, packets: u32, count: u32) -> Option<Vec<u32>> {
    let mean = packets.checked_div(count)?;
    let mut x: u32 = 12345;
    let mut random = |end: u32| {
        x = x.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (x >> 16) % end
    };
    let batch = |index: u32| match gaps {
        "even" => Some(mean),
        "jitter" => Some(mean / 2 + random(mean + 1)),
        // The other batches are a tenth shorter, so that the sum is about the same.
        "rare" if index % 100 == 99 => Some(mean * 10),
        "rare" => Some((mean * 10).div_ceil(11)),
        _ => None,
    };
    (0..count).map(batch).collect()
}

/// Passes the whole load to the rule. The queue counts queued and completed units, whatever the
/// rule. Between two batches it runs code that is opaque to the compiler, so the state of the rule
/// must be in memory then; `black_box(&mut *rule)` has this effect.
#[inline(never)]
fn send<L: Limit + ?Sized>(batches: &[u32], rule: &mut L) -> u32 {
    rule.begin(0);
    let (mut now_ns, mut num_queued, mut num_completed) = (0_u64, 0_u32, 0_u32);
    let (mut before, mut back_ns, mut limit) = (0, Some(0), 0);
    for (times_blocked, &packets) in (1..).zip(batches) {
        num_queued = num_queued.wrapping_add(packets * PACKET_BYTES);
        // The previous batch completes, so the device never runs dry.
        let units = before * PACKET_BYTES;
        let returned_ns = now_ns;
        now_ns += u64::from(units) * NS_PER_BYTE;
        if before > 0 {
            limit = rule.completed(&CompletionBatch {
                now_ns,
                units,
                in_flight: num_queued.wrapping_sub(num_completed),
                last_object: PACKET_BYTES,
                more_pending: false,
                ring_units: u32::MAX,
                sender_returned_ns: back_ns,
                times_blocked,
                rate_per_s: 0,
            });
            if rule.needs().return_time {
                back_ns = Some(returned_ns);
            }
            num_completed = num_completed.wrapping_add(units);
            black_box(&mut *rule);
        }
        before = packets;
    }
    limit
}

pub fn run(rule: &str, gaps: &str, packets: &str, count: &str) -> Option<String> {
    let batches = batches(gaps, packets.parse().ok()?, count.parse().ok()?)?;
    let limit = match rule {
        "none" => send(&batches, black_box(&mut Nothing)),
        rule => send(&batches, black_box(&mut rule.parse::<AnyLimit>().ok()?)),
    };
    Some(limit.to_string())
}

pub fn memory() -> String {
    let (off, dql, taut) = (
        size_of::<Fixed>(),
        size_of::<Dynamic>(),
        size_of::<LossBudget>(),
    );
    format!("off {off}\ndql {dql}\ntaut {taut}")
}
