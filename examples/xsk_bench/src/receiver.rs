//! The receiving end, on a thread of its own.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use taut_linux::af_packet::PacketReceiver;
use taut_linux::{VirtioNetHeader, poll, sched};

use crate::packet;
use crate::world::{FAR, World};

/// Interval at which the thread checks whether it must end.
const CHECK_NS: u64 = 20_000_000;

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

/// Receives until it is dropped.
pub struct Receiver {
    arrivals: Arc<Mutex<Arrivals>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    pub fn start(world: &World) -> io::Result<Self> {
        let socket = PacketReceiver::open(&world.far, FAR)?;
        let (arrivals, stop) = (
            Arc::<Mutex<Arrivals>>::default(),
            Arc::<AtomicBool>::default(),
        );
        let thread = std::thread::spawn({
            let (arrivals, stop) = (arrivals.clone(), stop.clone());
            move || {
                let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
                while !stop.load(Ordering::Relaxed) {
                    let deadline_ns = sched::monotonic_ns() + CHECK_NS;
                    let _ = poll::wait(&[socket.as_fd()], Some(deadline_ns));
                    // An error, reported once, means that the device went down.
                    while let Ok(Some(bytes)) = socket.read(&mut buffer) {
                        note(&buffer[..bytes], &arrivals);
                    }
                }
            }
        });
        Ok(Self {
            arrivals,
            stop,
            thread: Some(thread),
        })
    }

    /// Returns the packets that have arrived.
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
