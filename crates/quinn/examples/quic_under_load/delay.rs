//! Path delay: threads that hold each datagram for half of a round trip, in both directions.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which an idle thread checks whether the run is over.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum number of datagrams in transit: 1 s of 500 Mbit/s and more. Further ones are lost.
const ON_THE_WAY: usize = 65_536;
const LONGEST_DATAGRAM_BYTES: usize = 65_536;

type Delayed = (Instant, Vec<u8>);

/// The delay between one client and a server.
pub struct Delay {
    /// The address of the server for the client.
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
}

/// One end of the relay, and the destination of its datagrams.
struct End {
    socket: UdpSocket,
    peer: Arc<OnceLock<SocketAddr>>,
}

impl Delay {
    /// Starts a delay between the first sender to `front` and `server`, which `back` reaches.
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
        // No datagram, or an error of an earlier one: check again.
        let Ok((bytes, sender)) = from.recv_from(&mut buffer) else {
            continue;
        };
        if let Some(client) = client {
            client.get_or_init(|| sender);
        }
        let _ = keep.try_send((Instant::now() + one_way, buffer[..bytes].to_vec()));
    }
}

/// Ends after the receiving side.
fn pass_on(kept: &Receiver<Delayed>, to: &End) {
    for (due, datagram) in kept {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if let Some(peer) = to.peer.get() {
            let _ = to.socket.send_to(&datagram, peer);
        }
    }
}
