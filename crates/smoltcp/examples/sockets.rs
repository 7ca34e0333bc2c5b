//! Many sockets that always have something to send, over a link of 20 Mbit/s: what the least, the
//! mean and the most of them got. Virtual time: `cargo run --release -p taut-smoltcp --example
//! sockets`.

#[allow(dead_code, unused_imports)] // The tests use the rest.
#[path = "../tests/it/fair.rs"]
mod fair;
#[allow(dead_code)]
#[path = "../tests/it/net.rs"]
mod net;

use smoltcp::time::Instant;

fn show(kind: &str, bytes: &[u64]) {
    let kb = |bytes: u64| bytes / 1000;
    let least = bytes.iter().min().copied().unwrap_or(0);
    let most = bytes.iter().max().copied().unwrap_or(0);
    let mean = bytes.iter().sum::<u64>() / bytes.len() as u64;
    println!(
        "{kind:<7} {:>7} {:>10} {:>7} {:>7}",
        bytes.len(),
        kb(least),
        kb(mean),
        kb(most)
    );
}

fn main() {
    println!("        sockets   least KB    mean    most");
    let device = || fair::builder().build(Instant::ZERO).expect("good settings");
    for (sockets, buffer_bytes) in [(10, 64 << 10), (100, 16 << 10)] {
        show("TCP", &fair::tcp_bytes(device(), sockets, buffer_bytes));
        show("UDP", &fair::udp_bytes(device(), sockets));
    }
    show("UDP", &fair::udp_bytes(device(), 300));
}
