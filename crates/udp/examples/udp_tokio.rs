//! Bulk and urgent requests through one socket on tokio: the urgent ones go first, because nothing
//! was handed to the kernel too early. Makes network namespaces of its own with a shaper of 20
//! Mbit/s.

mod support;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use taut_path::AnyLimit;
use taut_udp::async_udp::AsyncUdp;
use taut_udp::{Datagram, LimitedUdp};
use tokio::sync::mpsc;
use tokio::time;

/// An urgent message that took longer was lost on the way, as datagrams may be.
const LOST_AFTER: Duration = Duration::from_secs(3);

/// What an urgent message waited until the far side had it: the middle of 40.
async fn run(limit: AnyLimit) -> Result<Duration, Box<dyn Error>> {
    let link = support::shaped_link(20_000_000);
    let socket = AsyncUdp::build(LimitedUdp::builder(link.connected_socket()?).limit(limit))?;
    let far = tokio::net::UdpSocket::from_std(link.far_socket()?)?;
    let (urgent, mut next_urgent) = mpsc::channel::<()>(16);
    // ANCHOR: sender
    let sender = async {
        loop {
            socket.room().await?; // only now is it decided what goes next
            let payload: &[u8] = match next_urgent.try_recv() {
                Ok(()) => &[1; 100],
                Err(_) => &[0; 1200],
            };
            let _ = socket.send(&[Datagram::new(payload)]).await?;
        }
    };
    // ANCHOR_END: sender
    let requests = async {
        time::sleep(Duration::from_millis(500)).await;
        let (mut waits, mut buffer) = (vec![], [0; 2000]);
        for _ in 0..40 {
            let asked = Instant::now();
            urgent.send(()).await?;
            let received = async {
                while far.recv(&mut buffer).await? != 100 {}
                Ok(())
            };
            let received: Result<io::Result<()>, _> = time::timeout(LOST_AFTER, received).await;
            received.unwrap_or(Ok(()))?;
            waits.push(asked.elapsed());
            time::sleep(Duration::from_millis(5)).await;
        }
        waits.sort();
        Ok(waits[20])
    };
    tokio::select! { done = requests => done, failed = sender => failed }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "an urgent message arrives after {:?} without a limit",
        run(AnyLimit::off()).await?
    );
    println!(
        "and after {:?} with Linux's rule",
        run(AnyLimit::dql()).await?
    );
    Ok(())
}
