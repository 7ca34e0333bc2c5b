//! What the TCP model costs: ns for each segment with its share of an acknowledgement (one for two
//! segments), over connections that take turns.
//!
//! `cargo run --release -p taut-sim --example tcp_cost`

use std::hint::black_box;
use std::time::Instant;

use taut_sim::tcp::{Congestion, Pacing, SuperPacket, TcpConfig, TcpReceiver, TcpSender};

const SEGMENTS: u64 = 10_000_000;
/// A prime: the turns visit every connection.
const STRIDE: usize = 7919;
/// Each turn of a connection.
const SEGMENTS_IN_A_TURN: u64 = 2;

fn cost_ns(config: &TcpConfig, connections: usize, loss_every: u64) -> f64 {
    let mut ends: Vec<(TcpSender, TcpReceiver)> = (0..connections)
        .map(|_| (TcpSender::new(config), TcpReceiver::new(config)))
        .collect();
    for (sender, _) in &mut ends {
        sender.write(u64::MAX);
    }
    let (mut segments, mut now_ns) = (0, 0);
    let start = Instant::now();
    while segments < SEGMENTS {
        for turn in 0..connections {
            // In no order that the processor can guess.
            let (sender, receiver) = &mut ends[turn * STRIDE % connections];
            for _ in 0..SEGMENTS_IN_A_TURN {
                now_ns += 1000;
                let Some(segment) = sender.next_segment(now_ns) else {
                    // Nothing to do until the delayed acknowledgement.
                    now_ns = now_ns.max(receiver.next_timer_ns().unwrap_or(now_ns));
                    sender.on_timer(now_ns);
                    break;
                };
                segments += 1;
                if loss_every != 0 && segments % loss_every == 0 {
                    continue;
                }
                let ack = receiver.on_segment(segment.start, segment.payload_bytes, false, now_ns);
                if let Some(ack) = ack {
                    sender.on_ack(black_box(&ack), now_ns);
                }
                black_box(sender.next_timer_ns());
            }
            now_ns += 1000;
            if let Some(ack) = receiver.on_timer(now_ns) {
                sender.on_ack(&ack, now_ns);
            }
        }
    }
    start.elapsed().as_nanos() as f64 / segments as f64
}

fn main() {
    println!(
        "sender {} B, receiver {} B",
        size_of::<TcpSender>(),
        size_of::<TcpReceiver>()
    );
    let cubic = TcpConfig::default();
    let reno = TcpConfig {
        congestion: Congestion::Reno,
        ..cubic
    };
    let paced = TcpConfig {
        pacing: Some(Pacing::default()),
        ..cubic
    };
    let auto = TcpConfig {
        super_packet: SuperPacket::Auto,
        ..cubic
    };
    println!("{:>12} {:>12} ns/segment", "connections", "");
    for connections in [1, 100, 10_000] {
        for (name, config, loss_every) in [
            ("cubic", &cubic, 0),
            ("reno", &reno, 0),
            ("cubic, lossy", &cubic, 1000),
            ("paced", &paced, 0),
            ("autosized", &auto, 0),
        ] {
            let ns = cost_ns(config, connections, loss_every);
            println!("{connections:>12} {name:>12} {ns:.1}");
        }
    }
}
