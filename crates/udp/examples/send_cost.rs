//! Measures the cost of a packet in batches of 16, and of a bare loop: `sendmmsg` without a limit.
//! It sends over loopback to a socket without a reader, and alternates between the two; medians.

use std::error::Error;
use std::net::UdpSocket;
use std::time::Instant;

use taut_udp::{Datagram, LimitedUdp, Source};

const BATCH: usize = 16;
const CALLS: usize = 2_000;
const ROUNDS: usize = 31;

fn pair() -> Result<(UdpSocket, UdpSocket), Box<dyn Error>> {
    let far = UdpSocket::bind("127.0.0.1:0")?;
    let near = UdpSocket::bind("127.0.0.1:0")?;
    near.connect(far.local_addr()?)?;
    Ok((near, far))
}

/// Nanoseconds for a packet.
fn time(mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    (0..CALLS).for_each(|_| call());
    begin.elapsed().as_nanos() as f64 / (CALLS * BATCH) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let payload = [0; 1200];
    let batch = [Datagram::new(&payload); BATCH];
    let whole = [0; 1200 * BATCH];
    let cut = [Datagram::new(&whole).segmented(1200)];
    let (bare, _bare_far) = pair()?;
    let mut rows = vec![];
    let mut sockets = vec![];
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let (near, far) = pair()?;
        sockets.push((LimitedUdp::builder(near).source(source).build()?, far));
        rows.push((format!("{source:?}, sendmmsg"), vec![]));
        rows.push((format!("{source:?}, GSO"), vec![]));
    }
    let (mut loops, mut gso_loops) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        loops.push(time(|| taut_udp::bare::send(&bare, &batch)));
        gso_loops.push(time(|| taut_udp::bare::send(&bare, &cut)));
        for (at, (socket, _)) in sockets.iter().enumerate() {
            let all = |datagrams: &[Datagram<'_>]| {
                socket
                    .send(datagrams)
                    .map(drop)
                    .unwrap_or_else(|error| panic!("{error}"));
            };
            rows[2 * at].1.push(time(|| all(&batch)));
            rows[2 * at + 1].1.push(time(|| all(&cut)));
        }
    }
    let bare_ns = [median(loops), median(gso_loops)];
    println!("ns a packet of 1,200 bytes, {BATCH} at a time");
    println!("{:<22} {:>8.0}", "bare, sendmmsg", bare_ns[0]);
    println!("{:<22} {:>8.0}", "bare, GSO", bare_ns[1]);
    for (at, (name, values)) in rows.into_iter().enumerate() {
        let ns = median(values);
        println!("{name:<22} {ns:>8.0}  {:+.0}", ns - bare_ns[at % 2]);
    }
    Ok(())
}
