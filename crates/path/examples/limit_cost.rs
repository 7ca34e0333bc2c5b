//! A fixed load for measuring the cost of a limit: one loop per process, the same for every rule,
//! so that the difference to no rule is the cost of the rule. `scripts/cost.sh --limits` runs it.
//!
//! `limit_cost RULE GAPS PACKETS ROUNDS`: PACKETS packets in ROUNDS completion batches; a sender
//! that always has more to send is blocked in each. RULE is none, or any limit by its name; GAPS is
//! even, jitter (half to one and a half) or rare (one batch in a hundred is ten times longer).
//! `limit_cost memory`: bytes per queue.

use std::hint::black_box;
use std::process::ExitCode;

use taut_dql::{Config, Error};
use taut_path::AnyLimit;
use taut_path::limit::{CompletionBatch, Dynamic, Fixed, Limit, LossBudget};

const PACKET_BYTES: u32 = 1514;
/// 1 Gbit/s.
const NS_PER_BYTE: u64 = 8;

/// No rule: it receives amounts and the clock, stores nothing, and always has room.
#[derive(Clone, Copy)]
struct Nothing;

impl Limit for Nothing {
    fn begin(&mut self, _now_ns: u64) {}

    fn limit(&self) -> u32 {
        taut_dql::MAX_LIMIT
    }

    fn completed(&mut self, round: &CompletionBatch) -> u32 {
        black_box(round);
        self.limit()
    }

    fn reset(&mut self, _now_ns: u64) {}

    fn config(&self) -> Config {
        Config::default()
    }

    fn set_config(&mut self, _config: Config) -> Result<(), Error> {
        Ok(())
    }
}

/// Returns the packets of each batch, computed before the loop.
fn rounds(gaps: &str, packets: u32, rounds: u32) -> Option<Vec<u32>> {
    let mean = packets / rounds;
    let mut x: u32 = 12345;
    let mut random = |end: u32| {
        x = x.wrapping_mul(1_103_515_245).wrapping_add(12345);
        (x >> 16) % end
    };
    let mut round = |index: u32| match gaps {
        "even" => Some(mean),
        "jitter" => Some(mean / 2 + random(mean + 1)),
        // The other batches are a tenth shorter, so that the sum is about the same.
        "rare" if index % 100 == 99 => Some(mean * 10),
        "rare" => Some((mean * 10).div_ceil(11)),
        _ => None,
    };
    (0..rounds).map(&mut round).collect()
}

/// Passes the whole load to the rule. The queue counts queued and completed units, whatever the
/// rule. Between two batches it runs code that is opaque to the compiler, so the state of the rule
/// must be in memory then; `black_box(&mut *rule)` has this effect.
#[inline(never)]
fn run<L: Limit + ?Sized>(rounds: &[u32], rule: &mut L) -> u32 {
    rule.begin(0);
    let (mut now_ns, mut num_queued, mut num_completed) = (0_u64, 0_u32, 0_u32);
    let (mut before, mut back_ns, mut limit) = (0, Some(0), 0);
    for (refusals, &packets) in (1..).zip(rounds) {
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
                times_blocked: refusals,
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

/// Prints the bytes per queue of each rule; the ledger is the same for all.
fn memory() -> ExitCode {
    for (rule, bytes) in [
        ("off", size_of::<Fixed>()),
        ("dql", size_of::<Dynamic>()),
        ("taut", size_of::<LossBudget>()),
    ] {
        println!("{rule:8} {bytes:6}");
    }
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [rule, gaps, packets, count] = words[..] else {
        return match words[..] {
            ["memory"] => memory(),
            _ => usage(),
        };
    };
    let (Ok(packets), Ok(count @ 1..)) = (packets.parse(), count.parse()) else {
        return usage();
    };
    let Some(rounds) = rounds(gaps, packets, count) else {
        return usage();
    };
    match rule {
        "none" => black_box(run(&rounds, black_box(&mut Nothing))),
        rule => match rule.parse::<AnyLimit>() {
            Ok(mut rule) => black_box(run(&rounds, black_box(&mut rule))),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        },
    };
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: limit_cost RULE even|jitter|rare PACKETS ROUNDS, or limit_cost memory");
    ExitCode::from(2)
}
