//! A fixed load for counting instructions: one loop per process, with or without the limit, so
//! that the difference is the cost of the limit. `scripts/cost.sh` runs it.
//!
//! `cost [--empty | --shared] BATCH DEPTH`: 1,048,576 packets in batches of BATCH. The packets of a
//! batch complete together, DEPTH batches later.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use taut_dql::{Config, Dql, Error, Shared, Snapshot, split};

const PACKETS: usize = 1 << 20;
const SIZES: usize = 1 << 16;
const ROUNDS_PER_MS: usize = 1024;
const NS_PER_MS: u64 = 1_000_000;

enum Variant {
    Owned,
    Shared,
    /// No limit: it receives amounts and the clock, stores nothing, and always has room.
    Empty,
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
fn send<L>(
    load: &Load,
    limit: &mut L,
    queued: impl Fn(&mut L, u32) -> Result<(), Error>,
    has_room: impl Fn(&L) -> bool,
    completed: impl Fn(&mut L, u32, u64) -> Result<(), Error>,
) -> Result<u32, Error> {
    let sizes: &[u32; SIZES] = load.sizes.first_chunk().expect("a full table");
    let (mut packet, mut stops, mut now_ns) = (0, 0, 0);
    for round in 0..load.sums.len() {
        for _ in 0..load.batch {
            queued(limit, sizes[packet % SIZES])?;
            packet += 1;
            stops += u32::from(!has_room(limit));
            black_box(&mut *limit);
        }
        if round >= load.depth {
            completed(limit, load.sums[round - load.depth], now_ns)?;
            black_box(&mut *limit);
        }
        if round % ROUNDS_PER_MS == 0 {
            now_ns += NS_PER_MS;
        }
    }
    Ok(stops)
}

/// Sends the load under a limit. Returns its final state.
fn measure(load: &Load, variant: Variant) -> Result<Option<Snapshot>, Error> {
    match variant {
        Variant::Owned => {
            let mut dql = Dql::new(0);
            let limit = black_box(&mut dql);
            black_box(send(
                load,
                limit,
                Dql::queued,
                Dql::has_room,
                Dql::completed,
            )?);
            Ok(Some(dql.snapshot()))
        }
        Variant::Shared => {
            let mut halves = split(Arc::new(Shared::new()), Config::default(), 0)?;
            let stops = send(
                load,
                black_box(&mut halves),
                |(sender, _), units| sender.queued(units),
                |(sender, _)| sender.has_room(),
                |(_, completer), units, now_ns| completer.completed(units, now_ns),
            );
            black_box(stops?);
            Ok(Some(halves.1.snapshot()))
        }
        Variant::Empty => {
            let stops = send(
                load,
                black_box(&mut ()),
                |_, units| {
                    black_box(units);
                    Ok(())
                },
                |_| true,
                |_, units, now_ns| {
                    black_box(units);
                    black_box(now_ns);
                    Ok(())
                },
            );
            black_box(stops?);
            Ok(None)
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (variant, numbers) = match words[..] {
        [batch, depth] | ["--owned", batch, depth] => (Variant::Owned, [batch, depth]),
        ["--shared", batch, depth] => (Variant::Shared, [batch, depth]),
        ["--empty", batch, depth] => (Variant::Empty, [batch, depth]),
        _ => return usage(),
    };
    let [Ok(batch), Ok(depth)] = numbers.map(str::parse::<usize>) else {
        return usage();
    };
    if batch == 0 || !PACKETS.is_multiple_of(batch) || depth > PACKETS {
        return usage();
    }
    match measure(&Load::new(batch, depth), variant) {
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
