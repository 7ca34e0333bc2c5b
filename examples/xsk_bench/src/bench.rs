//! The measurements without a fault: packets a second, and the delay of urgent packets.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taut_linux::sched::{self, monotonic_ns};

use crate::options::Options;
use crate::packet::BYTES;
use crate::receiver::Receiver;
use crate::world::World;
use crate::xsk::Result;

/// Interval of urgent packets, in ns.
const URGENT_INTERVAL_NS: u64 = 20_000_000;

/// A loop that sends, with or without a queue.
pub trait Sender {
    /// One iteration as fast as possible, without stamps, of up to `packets` in total.
    fn flood(&mut self, packets: u64) -> Result<()>;

    /// One iteration that keeps the device busy. The first packet is urgent if `urgent_ns`, its
    /// time of creation, is not 0. Returns the bytes in the ring ahead of it if it was accepted.
    fn pace(&mut self, urgent_ns: u64) -> Result<Option<u64>>;

    /// Returns the packets that the device completed.
    fn completed(&self) -> u64;

    /// Adds the state of the limit to the row of a run.
    fn describe(&self, _row: &mut Value) {}
}

pub fn run(sender: &mut impl Sender, world: &World, options: &Options) -> Result<Value> {
    let mut row = match options.rate {
        None => flood(sender, options.packets)?,
        Some(_) => pace(sender, world, options.seconds)?,
    };
    sender.describe(&mut row);
    Ok(row)
}

fn flood(sender: &mut impl Sender, packets: u64) -> Result<Value> {
    let start_ns = monotonic_ns();
    while sender.completed() < packets {
        sender.flood(packets)?;
    }
    let rate = packets as f64 * 1e9 / (monotonic_ns() - start_ns) as f64;
    Ok(json!({"packets": packets, "packets_per_second": rate.round()}))
}

fn pace(sender: &mut impl Sender, world: &World, seconds: u64) -> Result<Value> {
    sched::precise_timers()?;
    let receiver = Receiver::start(world)?;
    let start_ns = monotonic_ns();
    let mut due_ns = start_ns + URGENT_INTERVAL_NS;
    let (mut urgent_ns, mut ahead) = (0, Vec::new());
    while monotonic_ns() < start_ns + seconds * 1_000_000_000 {
        let now_ns = monotonic_ns();
        if urgent_ns == 0 && now_ns >= due_ns {
            (urgent_ns, due_ns) = (now_ns, now_ns + URGENT_INTERVAL_NS);
        }
        if let Some(bytes) = sender.pace(urgent_ns)? {
            ahead.push(bytes);
            urgent_ns = 0;
        }
        thread::sleep(Duration::from_micros(50));
    }
    let (ns, arrivals) = (monotonic_ns() - start_ns, receiver.arrivals());
    let bits = arrivals.numbers.len() as f64 * f64::from(BYTES) * 8.0;
    let delays: Vec<u64> = arrivals.urgent_ns.iter().map(|ns| ns / 1000).collect();
    Ok(json!({
        "mbit_per_second": (bits * 1e4 / ns as f64).round() / 10.0,
        "urgent_packets": delays.len(),
        "urgent_p50_us": percentile(&delays, 50),
        "urgent_p99_us": percentile(&delays, 99),
        "ring_bytes_p50": percentile(&ahead, 50),
    }))
}

/// Returns a percentile; 0 of no values.
fn percentile(values: &[u64], percent: usize) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    let at = values.len() * percent / 100;
    values.get(at).or(values.last()).copied().unwrap_or(0)
}
