//! Bulk and urgent requests through one socket on tokio. The sender reserves room before it selects
//! the next datagram, so the urgent ones go first. The example creates network namespaces with a
//! shaper of 20 Mbit/s.

mod support;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use taut_path::AnyLimit;
use taut_udp::async_udp::AsyncUdp;
use taut_udp::{Datagram, LimitedUdp, Priority, Stop};
use tokio::sync::mpsc;
use tokio::time;

/// An urgent message that takes longer is lost.
const LOST_AFTER: Duration = Duration::from_secs(3);

/// Returns the median delay of 40 urgent messages.
async fn run(limit: AnyLimit) -> Result<Duration, Box<dyn Error>> {
    let link = support::shaped_link(20_000_000);
    let builder = LimitedUdp::builder(link.connected_socket()?).limit(limit);
    let socket = AsyncUdp::new(builder.build()?)?;
    let far = tokio::net::UdpSocket::from_std(link.far_socket()?)?;
    let (urgent, mut next_urgent) = mpsc::channel::<()>(16);
    // ANCHOR: sender
    let sender = async {
        loop {
            let permit = socket.reserve(1242).await?; // before the next datagram is selected
            let next: &[u8] = match next_urgent.try_recv() {
                Ok(()) => &[1; 100],
                Err(_) => &[0; 1200],
            };
            let mut sent = permit.send(&[Datagram::new(next)])?;
            if let Some(Stop::NoRoom | Stop::BufferFull) = sent.stop {
                // It waits for the kernel.
                sent = socket
                    .send_as(&[Datagram::new(next)], Priority::Urgent)
                    .await?;
            }
            if let Some(Stop::Refused(errno)) = sent.stop {
                return Err(io::Error::from_raw_os_error(errno).into());
            }
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
