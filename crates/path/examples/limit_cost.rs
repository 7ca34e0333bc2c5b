//! A fixed load for counting what a limit costs: one loop a process, the same for every rule, so
//! that the difference to no rule at all is what the rule costs. `scripts/limit_cost.sh` runs it.
//!
//! `limit_cost RULE GAPS PACKETS ROUNDS`: PACKETS packets in ROUNDS rounds of completions; a sender
//! that always has more is refused in each. RULE is none, off, dql, need or ladder; GAPS is even,
//! jitter (half to one and a half) or rare (one round in a hundred ten times longer).
//! `limit_cost memory`: bytes for each queue.

use std::hint::black_box;
use std::process::ExitCode;

use taut_dql::{Error, Snapshot};
use taut_path::LimitSpec;
use taut_path::limit::{Done, Limit, LimitCompleter, LimitKnob, LimitSender, LimitUser};

const PACKET_BYTES: u32 = 1514;
/// 1 Gbit/s.
const NS_PER_BYTE: u64 = 8;

/// No rule: amounts and clock arrive, nothing is kept, and there is always room.
#[derive(Clone, Copy)]
struct Nothing;

impl Limit for Nothing {
    type Sender = Self;
    type Completer = Self;

    fn split(self, _now_ns: u64) -> Result<(Self, Self), Error> {
        Ok((self, self))
    }

    fn reset(_: &mut Self, _: &mut Self, _now_ns: u64) -> Result<(), Error> {
        Ok(())
    }
}

impl LimitSender for Nothing {
    fn queued(&mut self, bytes: u32, now_ns: u64) -> Result<(), Error> {
        black_box((bytes, now_ns));
        Ok(())
    }

    fn has_room(&self) -> bool {
        true
    }

    fn in_flight(&self) -> u32 {
        0
    }

    fn epoch(&self) -> u32 {
        0
    }
}

impl LimitCompleter for Nothing {
    fn completed(&mut self, done: Done, now_ns: u64, more: bool) -> Result<(), Error> {
        black_box((done, now_ns, more));
        Ok(())
    }

    fn has_room(&self) -> bool {
        true
    }

    fn epoch(&self) -> u32 {
        0
    }

    fn snapshot(&self) -> Snapshot {
        unreachable!("nobody looks at nothing")
    }

    fn set(&mut self, _knob: LimitKnob, _units: u32) -> Result<(), Error> {
        Ok(())
    }

    fn set_hold_time_ns(&mut self, _hold_time_ns: u64) {}
}

/// Packets of each round, known before the loop begins.
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
        // The others a tenth shorter, so that the sum is about the same.
        "rare" if index % 100 == 99 => Some(mean * 10),
        "rare" => Some((mean * 10).div_ceil(11)),
        _ => None,
    };
    (0..rounds).map(&mut round).collect()
}

/// Sends the whole load. Between two packets a sender runs code that the compiler cannot see into,
/// so the state of the rule has to be in memory then: that is what `black_box(&mut *half)` says.
#[inline(never)]
fn send<L: Limit>(
    rounds: &[u32],
    sender: &mut L::Sender,
    completer: &mut L::Completer,
) -> Result<u32, Error> {
    let (mut now_ns, mut stops, mut before) = (0_u64, 0, 0);
    for &packets in rounds {
        for _ in 0..packets {
            sender.queued(PACKET_BYTES, now_ns)?;
            stops += u32::from(!sender.has_room());
            black_box(&mut *sender);
        }
        sender.refused();
        // The round before this one finishes, so the device never runs dry.
        let bytes = before * PACKET_BYTES;
        now_ns += u64::from(bytes) * NS_PER_BYTE;
        if before > 0 {
            let done = Done {
                packets: before,
                bytes,
            };
            completer.completed(done, now_ns, false)?;
            black_box(&mut *completer);
        }
        before = packets;
    }
    Ok(stops)
}

struct Run<'a>(&'a [u32]);

impl LimitUser for Run<'_> {
    type Output = Result<(), Error>;

    fn with<L: Limit + Copy + 'static>(self, limit: L) -> Self::Output {
        let (mut sender, mut completer) = limit.split(0)?;
        let (sender, completer) = (black_box(&mut sender), black_box(&mut completer));
        black_box(send::<L>(self.0, sender, completer)?);
        Ok(())
    }
}

struct HalvesBytes;

impl LimitUser for HalvesBytes {
    type Output = usize;

    fn with<L: Limit + Copy + 'static>(self, _limit: L) -> usize {
        size_of::<L::Sender>() + size_of::<L::Completer>()
    }
}

const RULES: [&str; 4] = ["off", "dql", "need", "ladder"];

fn memory() -> ExitCode {
    let ledger_bytes = size_of::<taut_dql::Shared>();
    for rule in RULES {
        let spec: LimitSpec = rule.parse().expect("a name of the table");
        // What the sender tells a rule that sizes by need: a pair of cache lines for each side.
        let signals_bytes = match spec {
            LimitSpec::Need | LimitSpec::Ladder(_) => 2 * 128,
            _ => 0,
        };
        let halves_bytes = spec.give_to(HalvesBytes);
        let bytes = halves_bytes + ledger_bytes + signals_bytes;
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
    let ran = match rule {
        "none" => Run(&rounds).with(Nothing),
        rule => match rule.parse::<LimitSpec>() {
            Ok(spec) => spec.give_to(Run(&rounds)),
            Err(_) => return usage(),
        },
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: limit_cost RULE even|jitter|rare PACKETS ROUNDS, or limit_cost memory");
    ExitCode::from(2)
}
