//! A driver whose packets are written to a capture file.

use super::{Completions, TxRing, forward_completions};
use crate::packet::Packet;

/// The header of a capture whose times are in nanoseconds, in the order of bytes of this machine, as
/// draft-ietf-opsawg-pcap has it: magic, version 2.4, two zeroes, the longest packet, Ethernet.
fn file_header() -> [u8; 24] {
    let mut header = [0; 24];
    header[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_ne_bytes());
    header[4..6].copy_from_slice(&2_u16.to_ne_bytes());
    header[6..8].copy_from_slice(&4_u16.to_ne_bytes());
    header[16..20].copy_from_slice(&MOST_BYTES.to_ne_bytes());
    header[20..].copy_from_slice(&1_u32.to_ne_bytes());
    header
}

/// The longest packet that readers take (262,144, as tcpdump writes it).
const MOST_BYTES: u32 = 1 << 18;

/// Where the bytes of packets are.
pub trait PacketBytes {
    /// Shows the bytes of `packet` to `look`; a packet whose bytes are not known shows none.
    fn show(&self, packet: &Packet, look: &mut dyn FnMut(&[u8]));
}

/// The first bytes of each frame are its packet's.
impl PacketBytes for crate::pool::FramePool {
    fn show(&self, packet: &Packet, look: &mut dyn FnMut(&[u8])) {
        let length = packet.wire_bytes() as usize;
        let _ = self.with(packet.frame(), |bytes| {
            look(&bytes[..length.min(bytes.len())]);
        });
    }
}

/// Wraps a driver, its sending half or both in one, and writes each packet that its ring takes as a
/// capture file (pcap, nanoseconds), piece by piece, to `write`. The calls themselves do not change.
///
/// ```
/// use taut_path::driver::{Pcap, mock};
/// use taut_path::pool::FramePool;
/// use taut_path::Queue;
///
/// let (tx, completions, _device) = mock::ring(8);
/// let mut pool = FramePool::new(4, 64);
/// let mut file = Vec::new();
/// let tx = Pcap::new(tx, pool.clone(), |bytes: &[u8]| file.extend_from_slice(bytes));
/// let mut queue = Queue::builder(tx, completions).build(0)?;
/// queue.enqueue(pool.packet(b"fourteen bytes")?, 5, &mut pool);
/// let _ = queue.run(2_000_000_007, &mut pool);
/// drop(queue);
/// assert_eq!(file.len(), 24 + 16 + 14);
/// assert_eq!(file[24..32], [2_u32.to_ne_bytes(), 7_u32.to_ne_bytes()].concat());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pcap<D, B, W> {
    driver: D,
    bytes: B,
    write: W,
    begun: bool,
}

impl<D, B: PacketBytes, W: FnMut(&[u8])> Pcap<D, B, W> {
    /// The driver, whose packets' bytes are in `bytes`.
    pub fn new(driver: D, bytes: B, write: W) -> Self {
        Self {
            driver,
            bytes,
            write,
            begun: false,
        }
    }

    /// The driver.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// The driver, for calls that are not the queue's.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    fn record(&mut self, packet: &Packet, now_ns: u64) {
        if !core::mem::replace(&mut self.begun, true) {
            (self.write)(&file_header());
        }
        let write = &mut self.write;
        self.bytes.show(packet, &mut |bytes| {
            let bytes = &bytes[..bytes.len().min(MOST_BYTES as usize)];
            let length = bytes.len() as u32;
            let words = [
                (now_ns / 1_000_000_000) as u32,
                (now_ns % 1_000_000_000) as u32,
                length,
                length.max(packet.wire_bytes()),
            ];
            for word in words {
                write(&word.to_ne_bytes());
            }
            write(bytes);
        });
    }
}

impl<D: TxRing, B: PacketBytes, W: FnMut(&[u8])> TxRing for Pcap<D, B, W> {
    type Error = D::Error;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        self.driver.slots_free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    /// What the ring does not take is written as well: whether it does is known too late.
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.record(&packet, now_ns);
        self.driver.submit(packet, now_ns)
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), D::Error> {
        self.driver.kick(now_ns)
    }
}

impl<D: Completions, B: PacketBytes, W: FnMut(&[u8])> Completions for Pcap<D, B, W> {
    type Error = D::Error;

    forward_completions!(this => this.driver);
}
