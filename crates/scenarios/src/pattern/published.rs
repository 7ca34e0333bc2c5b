//! The six patterns that the ladder's page was tried on, made by the same arithmetic.

use super::families::{Gaps, Times};
use super::{BYTES_PER_S, FULL_BYTES};
use taut_sim::completion_trace::SplitMix;
use taut_sim::completion_trace::{Burst, CompletionTrace};

const NS_PER_S: u64 = 1_000_000_000;

/// Their names.
pub const NAMES: [&str; 6] = [
    "p01-jitter",
    "p02-exponential",
    "p03-napi-rounds",
    "p04-1pct-1ms",
    "p05-rate-steps",
    "p06-bursts-mix",
];

/// One of [`NAMES`]; offset 0 is the one whose figures are published. Nothing for another name.
pub fn make(name: &str, offset: u64) -> Option<CompletionTrace> {
    let number = NAMES.iter().position(|&known| known == name)?;
    let (seconds, warm_seconds) = [(20, 5), (30, 7), (20, 5), (30, 7), (30, 6), (30, 6)][number];
    let times = Times {
        warm_ns: warm_seconds * NS_PER_S,
        end_ns: seconds * NS_PER_S,
    };
    let seed = offset.wrapping_mul(1_000).wrapping_add(101 + number as u64);
    let gap_us: fn(&mut SplitMix) -> f64 = match number {
        0 | 4 => |random| random.between(80.0, 120.0),
        1 => |random| random.exponential(100.0),
        2 => |random| [5.0, 5.0, 10.0, 20.0, 300.0][(random.even() * 5.0) as usize],
        3 => |random| if random.happens(0.01) { 1_000.0 } else { 100.0 },
        _ => |random| random.between(20.0, 180.0),
    };
    let mut gaps = Gaps::new(SplitMix::new(seed), times.end_ns);
    let intervals = gaps.fill(|random, _| (gap_us(random), 0.0));
    let mut pattern = times.pattern(name, vec![intervals]);
    match number {
        4 => {
            let rate = |step: u64| {
                if step.is_multiple_of(2) {
                    BYTES_PER_S
                } else {
                    BYTES_PER_S / 10
                }
            };
            let step_ns = 6 * NS_PER_S;
            pattern.rates = (0..5).map(|step| (step * step_ns, rate(step))).collect();
            pattern.changes_ns = (1..5).map(|step| step * step_ns).collect();
        }
        5 => {
            pattern.sizes = mixed_sizes();
            pattern.bursts = vec![Burst {
                period_ns: 40_000_000,
                objects: 250,
            }];
        }
        _ => {}
    }
    Some(pattern)
}

/// ACKs, full segments and a few super-packets.
fn mixed_sizes() -> Vec<u32> {
    let mut random = SplitMix::new(11);
    let size = |share: f64| match share {
        _ if share < 0.5 => 66,
        _ if share < 0.95 => FULL_BYTES,
        _ => 65_226,
    };
    (0..997).map(|_| size(random.even())).collect()
}
