//! Storage for the packets of a driver between `submit` and `reap`, for devices whose completions
//! name a slot, a frame or a sequence number.
//!
//! The half of the [`TxRing`](crate::TxRing) stores each packet under a key. The half of the
//! [`Completions`](crate::Completions) takes it by the key that the device reports, in any order.
//! Each half can be on a thread of its own. A key that is not in flight returns nothing: the device
//! completed it twice, or never had it.
//!
//! # A driver in two halves
//! The device here takes frame numbers through one queue and returns them through another, as
//! AF_XDP does. The store is the driver's only bookkeeping, also for its free slots:
//! ```
//! use std::collections::VecDeque;
//! use std::convert::Infallible;
//! use std::sync::{Arc, Mutex};
//! use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};
//! use taut_path::pool::FramePool;
//! use taut_path::{AnyLimit, Completions, InRing, Packet, Queue, TxRing};
//!
//! /// The device's own queue of frame numbers.
//! type Numbers = Arc<Mutex<VecDeque<u32>>>;
//!
//! struct Tx { in_flight: InFlightSender, new: Vec<u32>, to_device: Numbers }
//!
//! impl TxRing for Tx {
//!     type Error = Infallible;
//!     fn capacity_slots(&self) -> u32 { self.in_flight.keys() }
//!     fn slots_free(&self) -> u32 { self.in_flight.free() }
//!     fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
//!         let frame = packet.frame().index();
//!         // Store it first: the device might complete it at once.
//!         self.in_flight.put(frame, packet)?;
//!         self.new.push(frame);
//!         Ok(())
//!     }
//!     fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
//!         self.to_device.lock().unwrap().extend(self.new.drain(..));
//!         Ok(())
//!     }
//! }
//!
//! struct Done { in_flight: InFlightCompleter, from_device: Numbers, unknown: u32 }
//!
//! impl Completions for Done {
//!     type Error = Infallible;
//!     fn slots_free(&self) -> u32 { self.in_flight.free() }
//!     fn reap(&mut self, _now_ns: u64, budget: u32, freed: &mut dyn FnMut(Packet))
//!         -> Result<bool, Infallible> {
//!         let mut finished = self.from_device.lock().unwrap();
//!         for _ in 0..budget {
//!             let Some(frame) = finished.pop_front() else { break };
//!             match self.in_flight.take(frame) {
//!                 Some(packet) => freed(packet),
//!                 None => self.unknown += 1, // completed twice: count and report it
//!             }
//!         }
//!         Ok(!finished.is_empty())
//!     }
//!     fn in_ring(&self) -> Option<InRing> { Some(self.in_flight.in_ring()) }
//! }
//!
//! let mut pool = FramePool::new(64, 2048);
//! let (sender, completer) = in_flight::split(pool.frames());
//! let wire = Numbers::default(); // the device completes every frame at once
//! let tx = Tx { in_flight: sender, new: Vec::new(), to_device: wire.clone() };
//! let done = Done { in_flight: completer, from_device: wire.clone(), unknown: 0 };
//! let mut queue = Queue::builder(tx, done).limit(AnyLimit::packets(16)).build(0)?;
//!
//! for _ in 0..3 {
//!     queue.enqueue(pool.packet(b"the bytes of a frame")?, 0, &mut pool);
//! }
//! let _ = queue.run(0, &mut pool);
//! assert_eq!(pool.free_frames(), 61);
//! wire.lock().unwrap().push_back(2); // a duplicate completion of frame 2
//! let completed = queue.complete(1_000, &mut pool)?;
//! assert_eq!((completed.counts.packets, queue.device().1.unknown), (3, 1));
//! assert_eq!(pool.free_frames(), 64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use taut_dql::sync::AtomicU32;

use crate::driver::InRing;
use crate::packet::{Packet, PacketWords};
use crate::sharing::Word;

#[cfg(all(test, loom))]
mod models;

/// State shared by both halves.
struct Store {
    slots: Box<[PacketSlot]>,
    put: HalfTotals,
    taken: HalfTotals,
}

/// A slot that stores a packet as numbers. A half that finds it empty may fill it; one that finds
/// it full may empty it. That needs no fence and no locked instruction.
#[derive(Default)]
#[repr(align(32))]
struct PacketSlot {
    state: AtomicU32,
    words: [AtomicU32; size_of::<PacketWords>() / size_of::<u32>()],
}

/// Also of a new slot.
const EMPTY: u32 = 0;
const FULL: u32 = 1;

impl PacketSlot {
    #[inline]
    fn write(&self, words: PacketWords) {
        for (target, word) in self.words.iter().zip(words) {
            Word::store(target, word);
        }
    }

    #[inline]
    fn read(&self) -> PacketWords {
        core::array::from_fn(|index| Word::load(&self.words[index]))
    }
}

/// The totals of one half, wrapping. Only that half writes them.
#[derive(Default)]
#[repr(align(128))]
struct HalfTotals {
    packets: AtomicU32,
    bytes: AtomicU32,
}

impl HalfTotals {
    /// Counts a packet of `bytes`, for the half that owns the totals. Release: a reader of a total
    /// sees the stores to the packets' slots.
    #[inline]
    fn add(&self, bytes: u32) {
        let (all_packets, all_bytes) = (Word::load(&self.packets), Word::load(&self.bytes));
        self.bytes.store_release(all_bytes.wrapping_add(bytes));
        self.packets.store_release(all_packets.wrapping_add(1));
    }
}

impl Store {
    fn keys(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns the number of packets in flight. Each half reads at least its own packets, so the
    /// difference is never negative.
    #[inline]
    fn packets(&self) -> u32 {
        let put = self.put.packets.load_acquire();
        put.wrapping_sub(self.taken.packets.load_acquire())
    }

    fn in_ring(&self) -> InRing {
        // In the reverse order of `add`, so the bytes are never older than the packets.
        let packets = self.packets();
        let put_bytes = self.put.bytes.load_acquire();
        InRing {
            packets,
            bytes: put_bytes.wrapping_sub(self.taken.bytes.load_acquire()),
        }
    }

    #[inline]
    fn free(&self) -> u32 {
        self.keys() - self.packets()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("keys", &self.keys())
            .field("in_ring", &self.in_ring())
            .finish()
    }
}

/// Creates a store for the keys below `keys`, each for one packet. It allocates 32 bytes per key
/// now, and nothing later.
pub fn split(keys: u32) -> (InFlightSender, InFlightCompleter) {
    let store = Arc::new(Store {
        slots: (0..keys).map(|_| PacketSlot::default()).collect(),
        put: HalfTotals::default(),
        taken: HalfTotals::default(),
    });
    let sender = InFlightSender {
        store: store.clone(),
    };
    (sender, InFlightCompleter { store })
}

/// The half of a store that the [`TxRing`](crate::TxRing) owns. Dropping both halves drops the
/// packets in flight, and loses their frames.
#[derive(Debug)]
pub struct InFlightSender {
    store: Arc<Store>,
}

impl InFlightSender {
    /// Stores `packet` until the other half takes it. Call it before the device can see the packet.
    ///
    /// # Errors
    /// Returns the packet if `key` is in use, or not below [`keys`](Self::keys).
    #[inline(always)]
    pub fn put(&mut self, key: u32, packet: Packet) -> Result<(), Packet> {
        let Some(slot) = self.store.slots.get(key as usize) else {
            return Err(packet);
        };
        if slot.state.load_acquire() != EMPTY {
            return Err(packet);
        }
        // Counted first, because the other half can take the packet as soon as it is stored.
        self.store.put.add(packet.wire_bytes());
        slot.write(packet.into_words());
        // Release: a completer that finds the slot full sees the whole packet.
        slot.state.store_release(FULL);
        Ok(())
    }

    /// Returns the number of packets in flight. The other half can lower it at any time.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.store.packets()
    }

    /// Returns the number of free keys. The other half can raise it at any time.
    #[inline]
    pub fn free(&self) -> u32 {
        self.store.free()
    }

    /// Returns the number of keys: valid keys are below it.
    pub fn keys(&self) -> u32 {
        self.store.keys()
    }
}

/// The half of a store that the [`Completions`](crate::Completions) own.
#[derive(Debug)]
pub struct InFlightCompleter {
    store: Arc<Store>,
}

impl InFlightCompleter {
    /// Takes the packet under `key`; `None` if there is none: the device completed it twice, never
    /// had it, or the key is out of range. The driver should count this as an error.
    #[inline(always)]
    pub fn take(&mut self, key: u32) -> Option<Packet> {
        let slot = self.store.slots.get(key as usize)?;
        if slot.state.load_acquire() != FULL {
            return None;
        }
        let packet = Packet::from_words(slot.read());
        // Release: the sender reuses the slot only after the packet was read.
        slot.state.store_release(EMPTY);
        self.store.taken.add(packet.wire_bytes());
        Some(packet)
    }

    /// Takes all packets in flight, by key: for a driver that flushes or recreates its ring, so
    /// that every packet ends. Packets that the other half stores at the same time might remain.
    pub fn take_all(&mut self, taken: &mut dyn FnMut(Packet)) {
        for key in 0..self.store.keys() {
            if let Some(packet) = self.take(key) {
                taken(packet);
            }
        }
    }

    /// Returns the packets in flight, for [`Completions::in_ring`](crate::Completions::in_ring).
    /// Exact while the other half is idle; otherwise a packet that it is storing might be included.
    pub fn in_ring(&self) -> InRing {
        self.store.in_ring()
    }

    /// Returns the number of packets in flight, as seen by this half.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.store.packets()
    }

    /// Returns the number of free keys, as seen by this half.
    #[inline]
    pub fn free(&self) -> u32 {
        self.store.free()
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> u32 {
        self.store.keys()
    }
}
