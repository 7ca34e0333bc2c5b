//! A ring whose device the test controls (feature `testing`, needs `std`): it receives the
//! packets that a doorbell announces, completes them in any order, and injects failures.
//!
//! ```
//! use taut_path::driver::testing::mock;
//! use taut_path::limit::AnyLimit;
//! use taut_path::pool::FramePool;
//! use taut_path::{Queue, Stop};
//!
//! let (tx, completions, device) = mock::ring(8);
//! let mut pool = FramePool::new(16, 64);
//! let mut queue = Queue::builder(tx, completions).limit(AnyLimit::packets(2)).build(0)?;
//! for _ in 0..3 {
//!     queue.enqueue(pool.packet(b"hello")?, 0, &mut pool);
//! }
//! assert_eq!(queue.run(0, &mut pool), Stop::Limit);
//! assert_eq!(device.sent().len(), 2);
//!
//! device.complete(1);
//! let completed = queue.complete(1_000, &mut pool)?;
//! assert_eq!((completed.counts.packets, completed.schedule), (1, true));
//!
//! device.fail_next_kick("the cable is out");
//! let Stop::Failed(error) = queue.run(2_000, &mut pool) else { panic!("it rang") };
//! assert_eq!(error.to_string(), "the cable is out");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::VecDeque;
use std::string::String;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use crate::driver::{ChunkSupport, Completions, InRing, TxRing};
use crate::packet::Packet;

/// The error of a mock: the text that the test set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MockError(pub String);

/// A packet as the device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentFrame {
    /// Index of its frame.
    pub frame: u32,
    /// Its length, see [`Packet::wire_bytes`].
    pub wire_bytes: u32,
}

/// The sending half.
#[derive(Debug)]
pub struct MockTx(MockRing);

/// The completion half.
#[derive(Debug)]
pub struct MockCompletions(MockRing);

/// The device side of the ring. A clone is the same device.
#[derive(Debug, Clone)]
pub struct MockDevice(MockRing);

/// Creates a ring of `slots` slots, one per packet.
pub fn ring(slots: u32) -> (MockTx, MockCompletions, MockDevice) {
    let shared = MockRing {
        slots,
        ring: Arc::default(),
    };
    let completions = MockCompletions(shared.clone());
    (MockTx(shared.clone()), completions, MockDevice(shared))
}

#[derive(Debug, Clone)]
struct MockRing {
    slots: u32,
    ring: Arc<Mutex<Ring>>,
}

/// The packets of the ring, by state. A packet takes a slot in each.
#[derive(Debug, Default)]
struct Ring {
    /// Submitted, before the doorbell.
    submitted: VecDeque<Packet>,
    in_device: VecDeque<Packet>,
    finished: VecDeque<Packet>,
    /// Completion lost.
    lost: Vec<Packet>,
    /// Packets announced by each successful doorbell.
    bursts: Vec<u32>,
    completes_immediately: bool,
    early_completions: bool,
    failing_kick: Option<MockError>,
    failing_reap: Option<MockError>,
    rejects_next: bool,
}

impl Ring {
    fn packets(&self) -> impl Iterator<Item = &Packet> {
        let lists = [&self.submitted, &self.in_device, &self.finished];
        lists.into_iter().flatten().chain(&self.lost)
    }

    fn finish(&mut self, packets: usize) -> usize {
        let packets = packets.min(self.in_device.len());
        self.finished.extend(self.in_device.drain(..packets));
        packets
    }
}

impl MockRing {
    /// Ignores poisoning: a ring is never left half-changed.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots_free(&self, ring: &Ring) -> u32 {
        self.slots.saturating_sub(ring.packets().count() as u32)
    }
}

impl MockDevice {
    /// Returns the packets that the device has and did not complete, oldest first.
    pub fn sent(&self) -> Vec<SentFrame> {
        let ring = self.0.ring();
        let sent = ring.in_device.iter().map(|packet| SentFrame {
            frame: packet.frame().index(),
            wire_bytes: packet.wire_bytes(),
        });
        sent.collect()
    }

    /// Returns the number of packets announced by each successful doorbell so far.
    pub fn bursts(&self) -> Vec<u32> {
        self.0.ring().bursts.clone()
    }

    /// Completes up to `packets` packets, oldest first. Returns their number. Without this call
    /// nothing completes.
    pub fn complete(&self, packets: usize) -> usize {
        self.0.ring().finish(packets)
    }

    /// Completes the packet at `index` of [`sent`](Self::sent), before those sent earlier. Returns
    /// `true` if it exists.
    pub fn complete_at(&self, index: usize) -> bool {
        let mut ring = self.0.ring();
        let packet = ring.in_device.remove(index);
        let found = packet.is_some();
        ring.finished.extend(packet);
        found
    }

    /// Sets whether packets complete before the doorbell returns.
    pub fn complete_immediately(&self, at_once: bool) {
        self.0.ring().completes_immediately = at_once;
    }

    /// Sets whether the driver reports its completions as valid.
    pub fn set_completions_valid(&self, valid: bool) {
        self.0.ring().early_completions = !valid;
    }

    /// Loses the completions of up to `packets` packets, oldest first: they keep their slots and
    /// never complete. Returns their number.
    pub fn drop_completions(&self, packets: usize) -> usize {
        let mut ring = self.0.ring();
        let packets = packets.min(ring.in_device.len());
        let Ring {
            in_device, lost, ..
        } = &mut *ring;
        lost.extend(in_device.drain(..packets));
        packets
    }

    /// Completes all packets whose completion was lost. Returns their number.
    pub fn restore_completions(&self) -> usize {
        let mut ring = self.0.ring();
        let lost = core::mem::take(&mut ring.lost);
        let packets = lost.len();
        ring.finished.extend(lost);
        packets
    }

    /// Empties the ring without completions, as a driver does before its queue is reset. Pass each
    /// packet to the sink.
    pub fn flush(&self) -> Vec<Packet> {
        let mut ring = self.0.ring();
        let mut packets = core::mem::take(&mut ring.lost);
        packets.extend(ring.finished.drain(..));
        packets.extend(ring.in_device.drain(..));
        packets.extend(ring.submitted.drain(..));
        packets
    }

    /// Makes the next doorbell fail with `text`.
    pub fn fail_next_kick(&self, text: &str) {
        self.0.ring().failing_kick = Some(MockError(text.into()));
    }

    /// Makes the next reap fail with `text`, after it returned the completed packets.
    pub fn fail_next_reap(&self, text: &str) {
        self.0.ring().failing_reap = Some(MockError(text.into()));
    }

    /// Makes the ring reject the next packet.
    pub fn reject_next_submit(&self) {
        self.0.ring().rejects_next = true;
    }
}

impl TxRing for MockTx {
    type Error = MockError;

    fn capacity_slots(&self) -> u32 {
        self.0.slots
    }

    fn slots_free(&self) -> u32 {
        self.0.slots_free(&self.0.ring())
    }

    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let mut ring = self.0.ring();
        if core::mem::take(&mut ring.rejects_next) || self.0.slots_free(&ring) == 0 {
            return Err(packet);
        }
        ring.submitted.push_back(packet);
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), MockError> {
        let mut ring = self.0.ring();
        if let Some(error) = ring.failing_kick.take() {
            return Err(error);
        }
        let burst = core::mem::take(&mut ring.submitted);
        ring.bursts.push(burst.len() as u32);
        ring.in_device.extend(burst);
        if ring.completes_immediately {
            ring.finish(usize::MAX);
        }
        Ok(())
    }
}

impl Completions for MockCompletions {
    type Error = MockError;

    fn slots_free(&self) -> u32 {
        self.0.slots_free(&self.0.ring())
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, MockError> {
        for _ in 0..budget_packets {
            // Not locked while `freed` runs, because it might use the device.
            let packet = self.0.ring().finished.pop_front();
            match packet {
                Some(packet) => freed(packet),
                None => break,
            }
        }
        let mut ring = self.0.ring();
        match ring.failing_reap.take() {
            Some(error) => Err(error),
            None => Ok(!ring.finished.is_empty()),
        }
    }

    fn in_ring(&self) -> Option<InRing> {
        let ring = self.0.ring();
        Some(InRing {
            packets: ring.packets().count() as u32,
            bytes: ring
                .packets()
                .fold(0, |sum, packet| sum.wrapping_add(packet.wire_bytes())),
        })
    }

    fn completions_valid(&self) -> bool {
        !self.0.ring().early_completions
    }
}
