//! The receiving end, on a thread that ends with the process.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use taut_linux::af_packet::PacketReceiver;
use taut_linux::{VirtioNetHeader, poll, sched};

use crate::packet;
use crate::world::{FAR, World};

/// Packets that arrived.
#[derive(Debug, Default, Clone)]
pub struct Arrivals {
    pub numbers: HashSet<u64>,
    pub duplicates: u64,
    /// The highest number.
    pub last: u64,
    /// Delays of urgent packets, in ns.
    pub urgent_ns: Vec<u64>,
}

pub struct Receiver(Arc<Mutex<Arrivals>>);

impl Receiver {
    pub fn start(world: &World) -> io::Result<Self> {
        let socket = PacketReceiver::open(&world.far, FAR)?;
        let arrivals = Arc::<Mutex<Arrivals>>::default();
        let receiver = Self(Arc::clone(&arrivals));
        thread::spawn(move || {
            let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
            loop {
                let _ = poll::wait(&[socket.as_fd()], None);
                // An error, reported once, means that the device went down.
                while let Ok(Some(bytes)) = socket.read(&mut buffer) {
                    note(&buffer[..bytes], &arrivals);
                }
            }
        });
        Ok(receiver)
    }

    /// Returns the packets that have arrived.
    pub fn arrivals(&self) -> Arrivals {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until no packet has arrived for a moment.
    pub fn settled(&self) -> Arrivals {
        let mut before = self.arrivals();
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = self.arrivals();
            if now.numbers.len() == before.numbers.len() {
                return now;
            }
            before = now;
        }
    }
}

fn note(buffer: &[u8], arrivals: &Mutex<Arrivals>) {
    let stamp = VirtioNetHeader::split(buffer).and_then(|(_, frame)| packet::read(frame));
    let Some(stamp) = stamp else {
        return;
    };
    let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
    arrivals.last = arrivals.last.max(stamp.number);
    if !arrivals.numbers.insert(stamp.number) {
        arrivals.duplicates += 1;
    } else if stamp.urgent_ns > 0 {
        arrivals
            .urgent_ns
            .push(sched::monotonic_ns().saturating_sub(stamp.urgent_ns));
    }
}
