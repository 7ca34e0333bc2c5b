//! A UDP sender held back by what the kernel has not sent yet, beside one that is not: how long a
//! datagram waits below the socket. Makes two network namespaces of its own with a shaper of
//! 20 Mbit/s between them; needs the privilege for that.

mod support;

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use taut_path::AnyLimit;
use taut_udp::{Datagram, Departure, LimitedUdp};

/// Sends for a second; prints what the link carried and what a datagram waited.
fn run(name: &str, limit: AnyLimit) -> Result<(), Box<dyn Error>> {
    let link = support::shaped_link(20_000_000);
    let _far = link.far_socket()?; // nobody need read
    let waits = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&waits);
    let socket = LimitedUdp::builder(link.connected_socket()?)
        .limit(limit)
        .observer(move |departure: &Departure| seen.lock().unwrap().push(departure.sojourn_ns))
        .build()?;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        let batch = [Datagram::new(&[0; 1200]); 16];
        let _ = socket.send(&batch)?; // waits for room
    }
    let mut waits_ns = waits.lock().unwrap();
    waits_ns.sort_unstable();
    let now = socket.snapshot();
    println!(
        "{name:>4}: {} datagrams left, each after {} us in the middle; {} bytes in flight, {:?}",
        waits_ns.len(),
        waits_ns.get(waits_ns.len() / 2).unwrap_or(&0) / 1000,
        now.in_flight_bytes,
        now.completion_quality,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run("off", AnyLimit::off())?;
    run("dql", AnyLimit::dql())?;
    run("taut", AnyLimit::taut())
}
