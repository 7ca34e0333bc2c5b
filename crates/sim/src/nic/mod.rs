//! An emulated NIC without I/O: rings, a wire and interrupt moderation.
//!
//! It has no clock. The caller passes the time to [`EmulatedNic::advance`] and receives the events
//! one by one **in nominal order with their nominal times**, even if the call is late. A driver
//! that refills the ring at the nominal time of each interrupt keeps the wire busy, so preemption
//! does not appear as starvation.

mod config;
mod descriptors;
mod drivers;
mod emulated;
mod interrupt;
mod ring;
mod wire;

use taut_path::Packet;

pub use config::{FinishedAt, Framing, NicConfig};
pub use descriptors::{DescriptorRing, DescriptorRule, NicConfigError};
pub use drivers::RingOf;
pub use emulated::{EmulatedNic, SharedNic};
pub use interrupt::{InterruptRule, RareGap};
pub use ring::WireCounters;
pub use wire::{WireTime, link_ns};

/// An event of the NIC.
#[derive(Debug, PartialEq, Eq)]
pub enum NicEvent<'a> {
    /// A frame, or all frames of a packet, left the wire (or started, with `FinishedAt::Start`).
    /// The packet stays in the ring until it is reaped, which is not before its last frame.
    Frame(SentFrame<'a>),
    /// This ring interrupts: call its queue's `complete` with the event's time.
    Interrupt(usize),
}

/// A frame on the wire, or all frames of a packet.
#[derive(Debug, PartialEq, Eq)]
pub struct SentFrame<'a> {
    /// The ring of the packet.
    pub ring: usize,
    /// The packet of the frame.
    pub packet: &'a Packet,
    /// Index of the segment in its packet, from 0.
    pub index: u32,
    /// Whether it is the last frame of its packet.
    pub last: bool,
    /// When its last bit leaves, in ns.
    pub ends_ns: u64,
}

/// Receives the events of the rings and of the wire.
pub trait WireWatch {
    /// Called after a packet of `bytes` was submitted to a ring.
    #[inline]
    fn submitted(&mut self, _bytes: u32, _now_ns: u64) {}

    /// Called after a frame left the wire, with the bytes of a packet if the frame was its last.
    #[inline]
    fn sent(&mut self, _bytes: u32, _starts_ns: u64, _ends_ns: u64) {}

    /// Called after packets of `bytes` in total were reaped.
    #[inline]
    fn reported(&mut self, _bytes: u64, _now_ns: u64) {}

    /// Called after the wire had nothing to send.
    #[inline]
    fn was_idle(&mut self, _since_ns: u64, _until_ns: u64) {}
}

impl WireWatch for () {}
