//! The charges of packets below the sockets, kept by frame.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use taut_dql::sync::AtomicU32;

use super::account::FlowAccount;
use super::flow::Flow;
use crate::packet::{DropReason, Frame, Packet, PacketSink, Segmentation};
use crate::sharing::Word;

/// The charge of each packet below the sockets, by the number of its frame.
///
/// A frame has one owner at a time, and only the owner charges or releases it. The hand-over of the
/// frame between two threads therefore orders their accesses to its entry.
pub struct Charges {
    accounts: Arc<[Arc<FlowAccount>]>,
    entries: Vec<Entry>,
}

/// The charge of one frame.
struct Entry {
    /// The number of the charged flow, or [`UNCHARGED`].
    slot: AtomicU32,
    bytes: AtomicU32,
}

const UNCHARGED: u32 = u32::MAX;

impl Entry {
    fn new() -> Self {
        Self {
            slot: Word::new(UNCHARGED),
            bytes: Word::new(0),
        }
    }
}

impl Charges {
    pub(super) fn new(accounts: Arc<[Arc<FlowAccount>]>, frames: u32) -> Self {
        let mut charges = Self {
            accounts,
            entries: Vec::new(),
        };
        charges.grow(frames);
        charges
    }

    /// Frames that can be charged: those with a number below this.
    pub fn frames(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Makes room for frames with a number below `frames`. The number of frames never decreases.
    pub fn grow(&mut self, frames: u32) {
        let frames = self.entries.len().max(frames as usize);
        self.entries.resize_with(frames, Entry::new);
    }

    /// Charges `packet` to `flow`, by its [`charge_bytes`](Packet::charge_bytes). The flow must be
    /// of the [`FlowBudgets`](super::FlowBudgets) that created these charges. Call it before
    /// [`enqueue`](crate::Queue::enqueue). An earlier charge of the same frame is released first.
    ///
    /// Returns `false` if the number of the frame is too large: such a packet is not charged.
    ///
    /// # Panics
    /// In debug builds, if `flow` is of other budgets.
    pub fn charge(&self, flow: &Flow, packet: &Packet) -> bool {
        let account = flow.account();
        debug_assert!(
            Arc::ptr_eq(&account.common, &self.accounts[0].common),
            "a flow of another table"
        );
        let Some(entry) = self.entries.get(packet.frame().index() as usize) else {
            return false;
        };
        self.release(packet.frame());
        account.charge(packet.charge_bytes());
        Word::store(&entry.bytes, packet.charge_bytes());
        Word::store(&entry.slot, account.slot);
        true
    }

    /// Releases the charge of `frame`, after which its flow might have room. Returns `false` if the
    /// frame is not charged.
    #[inline]
    pub fn release(&self, frame: &Frame) -> bool {
        let Some(entry) = self.entries.get(frame.index() as usize) else {
            return false;
        };
        let slot = Word::load(&entry.slot);
        let Some(account) = self.accounts.get(slot as usize) else {
            return false;
        };
        Word::store(&entry.slot, UNCHARGED);
        account.end_packet(Word::load(&entry.bytes));
        true
    }
}

impl fmt::Debug for Charges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charges")
            .field("frames", &self.frames())
            .finish_non_exhaustive()
    }
}

/// Releases the charge of each packet that ends, and passes the packet to the caller's sink.
///
/// An unknown completion releases nothing: its frame might be in use by another packet.
#[derive(Debug)]
pub struct ReleasingSink<'a, S> {
    charges: Option<&'a Charges>,
    sink: S,
}

impl<'a, S: PacketSink> ReleasingSink<'a, S> {
    /// Wraps `sink`. Without charges it only passes packets on.
    #[inline]
    pub fn new(charges: impl Into<Option<&'a Charges>>, sink: S) -> Self {
        Self {
            charges: charges.into(),
            sink,
        }
    }

    #[inline]
    fn release(&self, packet: &Packet) {
        if let Some(charges) = self.charges {
            charges.release(packet.frame());
        }
    }
}

impl<S: PacketSink> PacketSink for ReleasingSink<'_, S> {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.release(&packet);
        self.sink.freed(packet);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.release(&packet);
        self.sink.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &Packet) {
        self.sink.marked(packet);
    }

    fn chunk_freed(&mut self, chunk: &Packet) {
        self.sink.chunk_freed(chunk);
    }

    fn segments_dropped(&mut self, of: &Packet, reason: DropReason) {
        self.sink.segments_dropped(of, reason);
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.sink.unknown_completion(packet);
    }
}

/// The descriptor that a host keeps of each packet.
const DESCRIPTOR_BYTES: u32 = 256;
/// The smallest buffer: headers, and a few bytes of payload.
const MIN_BUFFER_BYTES: u32 = 512;
/// The payload of a GSO packet is stored in whole pages.
const PAGE_BYTES: u32 = 4096;

/// Returns the memory of a packet of `wire_bytes` in a host. A plain packet of 1,514 bytes takes
/// 2,304. A GSO packet takes its pages, a buffer for its headers and the descriptor.
pub fn memory_bytes(wire_bytes: u32, segmentation: Option<Segmentation>) -> u32 {
    let data_bytes = match segmentation {
        // The common cases: an acknowledgement, or a full Ethernet frame.
        None if wire_bytes <= MIN_BUFFER_BYTES => MIN_BUFFER_BYTES,
        None if wire_bytes > 1_024 && wire_bytes <= 2_048 => 2_048,
        None => wire_bytes.checked_next_power_of_two().unwrap_or(wire_bytes),
        Some(segmentation) => wire_bytes
            .saturating_sub(segmentation.header_bytes.into())
            .div_ceil(PAGE_BYTES)
            .saturating_mul(PAGE_BYTES)
            .saturating_add(MIN_BUFFER_BYTES),
    };
    data_bytes.saturating_add(DESCRIPTOR_BYTES)
}
