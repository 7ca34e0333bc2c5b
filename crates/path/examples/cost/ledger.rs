//! The cost of `Dql` and its halves for each packet.

use std::hint::black_box;
use std::sync::Arc;

use taut_dql::{Config, Dql, Error, Shared, Snapshot, split};

const PACKETS: usize = 1 << 20;
const SIZES: usize = 1 << 16;
const BATCHES_PER_MS: usize = 1024;
const NS_PER_MS: u64 = 1_000_000;

/// The load: packet sizes and the sum of each batch, computed before the loop.
struct LedgerLoad {
    sizes: Vec<u32>,
    sums: Vec<u32>,
    batch: usize,
    depth: usize,
}

impl LedgerLoad {
    fn new(batch: usize, depth: usize) -> LedgerLoad {
        let mut x: u32 = 12345;
        let sizes: Vec<u32> = (0..SIZES)
            .map(|_| {
                x = x.wrapping_mul(1_103_515_245).wrapping_add(12345);
                64 + (x >> 16) % 1437
            })
            .collect();
        let size = |packet: usize| sizes[packet % SIZES];
        let sum = |index: usize| (index * batch..(index + 1) * batch).map(size).sum();
        let sums = (0..PACKETS / batch).map(sum).collect();
        LedgerLoad {
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
    load: &LedgerLoad,
    limit: &mut L,
    queued: impl Fn(&mut L, u32) -> Result<(), Error>,
    has_room: impl Fn(&L) -> bool,
    completed: impl Fn(&mut L, u32, u64) -> Result<(), Error>,
) -> Result<u32, Error> {
    let sizes: &[u32; SIZES] = load.sizes.first_chunk().expect("a full table");
    let (mut packet, mut stops, mut now_ns) = (0, 0, 0);
    for index in 0..load.sums.len() {
        for _ in 0..load.batch {
            queued(limit, sizes[packet % SIZES])?;
            packet += 1;
            stops += u32::from(!has_room(limit));
            black_box(&mut *limit);
        }
        if index >= load.depth {
            completed(limit, load.sums[index - load.depth], now_ns)?;
            black_box(&mut *limit);
        }
        if index % BATCHES_PER_MS == 0 {
            now_ns += NS_PER_MS;
        }
    }
    Ok(stops)
}

fn owned(load: &LedgerLoad) -> Result<Snapshot, Error> {
    let mut dql = Dql::new(0);
    let limit = black_box(&mut dql);
    let stops = send(load, limit, Dql::queued, Dql::has_room, Dql::completed);
    black_box(stops?);
    Ok(dql.snapshot())
}

fn shared(load: &LedgerLoad) -> Result<Snapshot, Error> {
    let mut halves = split(Arc::new(Shared::new()), Config::default(), 0)?;
    let stops = send(
        load,
        black_box(&mut halves),
        |(sender, _), units| sender.queued(units),
        |(sender, _)| sender.has_room(),
        |(_, completer), units, now_ns| completer.completed(units, now_ns),
    );
    black_box(stops?);
    Ok(halves.1.snapshot())
}

/// No limit: it receives amounts and the clock, stores nothing, and always has room.
fn empty(load: &LedgerLoad) -> Result<u32, Error> {
    send(
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
    )
}

pub fn run(variant: &str, batch: &str, depth: &str) -> Option<String> {
    let (batch, depth) = (batch.parse::<usize>().ok()?, depth.parse().ok()?);
    if batch == 0 || !PACKETS.is_multiple_of(batch) || depth > PACKETS {
        return None;
    }
    let load = LedgerLoad::new(batch, depth);
    let end = match variant {
        "owned" => owned(&load),
        "shared" => shared(&load),
        "empty" => return empty(&load).map(|stops| stops.to_string()).ok(),
        _ => return None,
    };
    let end = end.expect("the load is valid");
    Some(format!(
        "limit {} num_queued {} num_completed {}",
        end.limit, end.num_queued, end.num_completed
    ))
}
