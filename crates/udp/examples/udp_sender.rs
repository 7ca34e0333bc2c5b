//! Measures how long a datagram waits below a UDP socket, with and without a limit. The example
//! creates two network namespaces with a shaper between them, which needs root.
//!
//! `udp_sender [MBIT]`: the rate of the shaper, 20 Mbit/s by default.

mod support;

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use taut_path::AnyLimit;
use taut_udp::{Datagram, Departure, LimitedUdp};

const RUN: Duration = Duration::from_secs(1);
const PAYLOAD: [u8; 1200] = [0; 1200];

/// Sends for a second, and prints the rate of the link and the median delay of a datagram.
fn run(name: &str, bits_per_s: u64, limit: AnyLimit, cap_ns: u64) -> Result<(), Box<dyn Error>> {
    let link = support::shaped_link(bits_per_s);
    let _far = link.far_socket()?; // The kernel drops what this socket has no room for.
    let delays = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&delays);
    let socket = LimitedUdp::builder(link.connected_socket()?)
        .limit(limit)
        .cap_ns(cap_ns)
        .observer(move |departure: &Departure| observed.lock().unwrap().push(departure.sojourn_ns))
        .build()?;
    let begin = Instant::now();
    while begin.elapsed() < RUN {
        let _ = socket.send(&[Datagram::new(&PAYLOAD); 16])?; // Waits for room.
    }
    let mbit = socket.snapshot().totals.completed_bytes as f64 * 8e-6 / RUN.as_secs_f64();
    let mut delays_ns = delays.lock().unwrap();
    delays_ns.sort_unstable();
    let now = socket.snapshot();
    println!(
        "{name:>12} {mbit:>8.1} Mbit/s {:>9} us {:>9} bytes in flight, {:?}",
        delays_ns.get(delays_ns.len() / 2).unwrap_or(&0) / 1000,
        now.in_flight_bytes,
        now.completion_quality,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mbit: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(20), |text| text.parse())?;
    let bits_per_s = mbit * 1_000_000;
    println!("limit, rate, median delay of a datagram below the socket:");
    run("off", bits_per_s, AnyLimit::off(), 0)?;
    run("dql", bits_per_s, AnyLimit::dql(), 0)?;
    run("taut", bits_per_s, AnyLimit::taut(), 0)?;
    run("taut, 2 ms", bits_per_s, AnyLimit::taut(), 2_000_000)?;
    run("taut, 5 ms", bits_per_s, AnyLimit::taut(), 5_000_000)
}
