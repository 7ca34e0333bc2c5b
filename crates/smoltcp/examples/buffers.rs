//! smoltcp#949: throughput over socket buffers, over a ring of 16 that drops frames while it is
//! full. Virtual time: `cargo run --release -p taut-smoltcp --example buffers`.

#[allow(dead_code)] // The tests use the rest.
#[path = "../tests/it/net.rs"]
mod net;

use net::{DELAY_US, Nic, RATE_BITS_PER_S, RING_SLOTS};

fn main() {
    println!(
        "{} Mbit/s, a round trip of {} ms, a ring of {RING_SLOTS}, 20 s\n",
        RATE_BITS_PER_S / 1_000_000,
        2 * DELAY_US / 1000
    );
    println!("buffers     no limit                 limited");
    println!("KB          Mbit/s   overruns   ring  Mbit/s   overruns   ring");
    for buffer_bytes in [16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let plain = net::transfer(Nic::default(), buffer_bytes, 20);
        let limited = net::transfer(net::limited(), buffer_bytes, 20);
        println!(
            "{:<10} {:>7.1} {:>10} {:>6} {:>7.1} {:>10} {:>6}",
            buffer_bytes >> 10,
            plain.mbit_per_s,
            plain.overruns,
            plain.most_in_ring,
            limited.mbit_per_s,
            limited.overruns,
            limited.most_in_ring,
        );
    }
}
