//! A fixed load for counting instructions: one loop per process, with or without the limit, so
//! that the difference is the cost of the limit. `scripts/cost.sh` runs it.
//!
//! `cost [--empty | --shared] BATCH DEPTH`: 1,048,576 packets in batches of BATCH. The packets of a
//! batch complete together, DEPTH batches later.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use taut_dql::{Completer, Dql, Error, Sender, Shared, Snapshot, split};

const PACKETS: usize = 1 << 20;
const SIZES: usize = 1 << 16;
const ROUNDS_PER_MS: usize = 1024;
const NS_PER_MS: u64 = 1_000_000;

/// The calls of a sender to a limit.
trait Limit {
    fn queued(&mut self, units: u32) -> Result<(), Error>;
    fn has_room(&self) -> bool;
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error>;
    fn snapshot(&self) -> Option<Snapshot>;
}

/// No limit: it receives amounts and the clock, stores nothing, and always has room.
struct Empty;

impl Limit for Empty {
    #[inline]
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        black_box(units);
        Ok(())
    }
    #[inline]
    fn has_room(&self) -> bool {
        true
    }
    #[inline]
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        black_box(units);
        black_box(now_ns);
        Ok(())
    }
    fn snapshot(&self) -> Option<Snapshot> {
        None
    }
}

impl Limit for Dql {
    #[inline]
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.queued(units)
    }
    #[inline]
    fn has_room(&self) -> bool {
        self.has_room()
    }
    #[inline]
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completed(units, now_ns)
    }
    fn snapshot(&self) -> Option<Snapshot> {
        Some(self.snapshot())
    }
}

struct Halves {
    sender: Sender<Arc<Shared>>,
    completer: Completer<Arc<Shared>>,
}

impl Limit for Halves {
    #[inline]
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.sender.queued(units)
    }
    #[inline]
    fn has_room(&self) -> bool {
        self.sender.has_room()
    }
    #[inline]
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completer.completed(units, now_ns)
    }
    fn snapshot(&self) -> Option<Snapshot> {
        Some(self.completer.snapshot())
    }
}

/// The load: packet sizes and the sum of each batch, computed before the loop.
struct Load {
    sizes: Vec<u32>,
    sums: Vec<u32>,
    batch: usize,
    depth: usize,
}

impl Load {
    fn new(batch: usize, depth: usize) -> Load {
        let mut x: u32 = 12345;
        let sizes: Vec<u32> = (0..SIZES)
            .map(|_| {
                x = x.wrapping_mul(1_103_515_245).wrapping_add(12345);
                64 + (x >> 16) % 1437
            })
            .collect();
        let size = |packet: usize| sizes[packet % SIZES];
        let sum = |round: usize| (round * batch..(round + 1) * batch).map(size).sum();
        let sums = (0..PACKETS / batch).map(sum).collect();
        Load {
            sizes,
            sums,
            batch,
            depth,
        }
    }
}

/// Sends the whole load. Returns how often there was no room left, so that the result is used.
///
/// Between two packets a sender runs code that is opaque to the compiler (descriptors, the
/// doorbell), so the limit's state must be in memory then. `black_box(&mut *limit)` has this
/// effect.
#[inline(never)]
fn send<L: Limit>(load: &Load, limit: &mut L) -> Result<u32, Error> {
    let sizes: &[u32; SIZES] = load.sizes.first_chunk().expect("a full table");
    let (mut packet, mut stops, mut now_ns) = (0, 0, 0);
    for round in 0..load.sums.len() {
        for _ in 0..load.batch {
            limit.queued(sizes[packet % SIZES])?;
            packet += 1;
            stops += u32::from(!limit.has_room());
            black_box(&mut *limit);
        }
        if round >= load.depth {
            limit.completed(load.sums[round - load.depth], now_ns)?;
            black_box(&mut *limit);
        }
        if round % ROUNDS_PER_MS == 0 {
            now_ns += NS_PER_MS;
        }
    }
    Ok(stops)
}

fn run<L: Limit>(load: &Load, mut limit: L) -> Result<Option<Snapshot>, Error> {
    black_box(send(load, black_box(&mut limit))?);
    Ok(limit.snapshot())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (variant, numbers) = match words[..] {
        [variant, batch, depth] => (variant, [batch, depth]),
        [batch, depth] => ("--owned", [batch, depth]),
        _ => return usage(),
    };
    let [Ok(batch), Ok(depth)] = numbers.map(str::parse::<usize>) else {
        return usage();
    };
    if batch == 0 || !PACKETS.is_multiple_of(batch) || depth > PACKETS {
        return usage();
    }
    let load = Load::new(batch, depth);
    let ran = match variant {
        "--owned" => run(&load, Dql::new(0)),
        "--shared" => split(Arc::new(Shared::new()), Default::default(), 0)
            .and_then(|(sender, completer)| run(&load, Halves { sender, completer })),
        "--empty" => run(&load, Empty),
        _ => return usage(),
    };
    match ran {
        Ok(Some(s)) => {
            println!(
                "limit {} num_queued {} num_completed {}",
                s.limit, s.num_queued, s.num_completed
            );
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: cost [--empty | --shared] BATCH DEPTH \
         (BATCH a divisor of {PACKETS}, DEPTH at most that)"
    );
    ExitCode::from(2)
}
