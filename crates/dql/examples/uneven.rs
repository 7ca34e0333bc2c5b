//! A driver that polls every 250 us and reaps in batches of four packets. Compares a limit that
//! receives each batch with one behind a coalescer. Virtual time, 1 Gbit/s.

use std::collections::VecDeque;

use taut_dql::{Coalescer, Dql, Error};

const PACKET_BYTES: u32 = 1514;
/// 1,538 bytes with preamble, frame check sequence and gap.
const PACKET_NS: u64 = 12_304;
const POLL_NS: u64 = 250_000;
const BATCH_PACKETS: usize = 4;
const END_NS: u64 = 2_000_000_000;

/// Returns the final limit and the fraction of the time in which the link was busy.
fn run(period_ns: u64) -> Result<(u32, f64), Error> {
    let (mut dql, mut coalescer) = (Dql::new(0), Coalescer::new(period_ns));
    // Departure time of each packet in the device.
    let mut leaves_ns = VecDeque::new();
    let (mut free_ns, mut sent) = (0, 0_u32);
    for now_ns in (0..END_NS).step_by(POLL_NS as usize) {
        loop {
            let due = leaves_ns.iter().take_while(|&&at| at <= now_ns).count();
            let batch = due.min(BATCH_PACKETS);
            // ANCHOR: coalesce
            // Slots and frames are released immediately; only the count waits.
            leaves_ns.drain(..batch);
            let bytes = batch as u32 * PACKET_BYTES;
            if let Some(bytes) = coalescer.add(bytes, dql.limit(), now_ns) {
                dql.completed(bytes, now_ns)?;
            }
            while dql.has_room() {
                dql.queued(PACKET_BYTES)?;
                free_ns = now_ns.max(free_ns) + PACKET_NS;
                leaves_ns.push_back(free_ns);
                sent += 1;
            }
            // ANCHOR_END: coalesce
            if batch < BATCH_PACKETS {
                break;
            }
        }
    }
    let busy = u64::from(sent) * PACKET_NS;
    Ok((dql.limit(), busy as f64 / END_NS as f64))
}

fn main() -> Result<(), Error> {
    println!("reported        limit, bytes   link busy");
    let mut least_busy = 1.0_f64;
    for (interval, period_ns) in [
        ("each batch", 0),
        ("once per 250 us", 250_000),
        ("once per 1 ms", 1_000_000),
    ] {
        let (limit, busy) = run(period_ns)?;
        println!("{interval:<15} {limit:>12}   {:>7.1} %", busy * 100.0);
        least_busy = least_busy.min(busy);
    }
    assert!(
        least_busy < 0.99,
        "with a sample per batch, the limit is too low for the link"
    );
    Ok(())
}
