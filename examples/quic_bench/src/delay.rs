//! Path delay: threads that hold each datagram for half of a round trip, in both directions.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of datagrams in transit: 1 s of 500 Mbit/s and more. Further ones are lost.
const MAX_DATAGRAMS: usize = 65_536;
const MAX_DATAGRAM_BYTES: usize = 65_536;

/// Delays datagrams between the first sender to `front` and `server`, to which `back` sends. The
/// threads end with the process.
pub fn start(
    front: UdpSocket,
    back: UdpSocket,
    server: SocketAddr,
    one_way: Duration,
) -> io::Result<()> {
    back.connect(server)?;
    let (from_client, to_server) = (front.try_clone()?, back.try_clone()?);
    let client = Arc::new(OnceLock::new());
    let first_sender = Arc::clone(&client);
    let receive = move |buffer: &mut [u8]| -> io::Result<usize> {
        let (bytes, sender) = from_client.recv_from(buffer)?;
        first_sender.get_or_init(|| sender);
        Ok(bytes)
    };
    hold(one_way, receive, move |datagram| to_server.send(datagram));
    let receive = move |buffer: &mut [u8]| back.recv(buffer);
    hold(one_way, receive, move |datagram| match client.get() {
        Some(client) => front.send_to(datagram, client),
        None => Ok(0),
    });
    Ok(())
}

fn hold(
    time: Duration,
    receive: impl Fn(&mut [u8]) -> io::Result<usize> + Send + 'static,
    send: impl Fn(&[u8]) -> io::Result<usize> + Send + 'static,
) {
    let (held, due) = sync_channel(MAX_DATAGRAMS);
    thread::spawn(move || {
        let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
        loop {
            // An error belongs to an earlier datagram.
            if let Ok(bytes) = receive(&mut buffer) {
                let _ = held.try_send((Instant::now() + time, buffer[..bytes].to_vec()));
            }
        }
    });
    thread::spawn(move || {
        for (due, datagram) in due {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // QUIC detects and repairs the loss.
            let _ = send(&datagram);
        }
    });
}
