//! Distance: threads that keep each datagram for half of a round trip, in both directions.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How often a thread that hears nothing looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// So many may be on the way: 1 s of 500 Mbit/s and more. What goes beyond is lost, as on any path.
const ON_THE_WAY: usize = 65_536;
const LONGEST_DATAGRAM_BYTES: usize = 65_536;

type Delayed = (Instant, Vec<u8>);

/// Between one client and a server.
pub struct Delay {
    /// Where the client finds the server.
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
}

/// One end of the relay, and who is to get what comes out of it.
struct End {
    socket: UdpSocket,
    peer: Arc<OnceLock<SocketAddr>>,
}

impl Delay {
    /// Between whoever sends to `front` first and `server`, which `back` reaches.
    pub fn start(
        front: UdpSocket,
        back: UdpSocket,
        server: SocketAddr,
        one_way: Duration,
    ) -> io::Result<Self> {
        let address = front.local_addr()?;
        let over = Arc::<AtomicBool>::default();
        let (client, known) = (Arc::default(), Arc::new(OnceLock::from(server)));
        for (from, to, client) in [
            (&front, (&back, &known), Some(&client)),
            (&back, (&front, &client), None),
        ] {
            let (keep, kept) = sync_channel(ON_THE_WAY);
            from.set_read_timeout(Some(LOOK))?;
            let (from, over) = (from.try_clone()?, Arc::clone(&over));
            let client = client.map(Arc::clone);
            let to = End {
                socket: to.0.try_clone()?,
                peer: Arc::clone(to.1),
            };
            thread::spawn(move || receive(&from, client.as_deref(), one_way, &keep, &over));
            thread::spawn(move || pass_on(&kept, &to));
        }
        Ok(Self { address, over })
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

fn receive(
    from: &UdpSocket,
    client: Option<&OnceLock<SocketAddr>>,
    one_way: Duration,
    keep: &SyncSender<Delayed>,
    over: &AtomicBool,
) {
    let mut buffer = vec![0; LONGEST_DATAGRAM_BYTES];
    while !over.load(Relaxed) {
        // Nothing came, or an error of an earlier datagram: the next look.
        let Ok((bytes, sender)) = from.recv_from(&mut buffer) else {
            continue;
        };
        if let Some(client) = client {
            client.get_or_init(|| sender);
        }
        let _ = keep.try_send((Instant::now() + one_way, buffer[..bytes].to_vec()));
    }
}

/// Ends when the receiving side has.
fn pass_on(kept: &Receiver<Delayed>, to: &End) {
    for (due, datagram) in kept {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if let Some(peer) = to.peer.get() {
            let _ = to.socket.send_to(&datagram, peer);
        }
    }
}
