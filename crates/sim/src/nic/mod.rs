//! An emulated NIC without I/O: a ring, a wire and interrupt moderation.
//!
//! It has no clock. The caller passes the time to [`EmulatedNic::advance`] and receives the events
//! one by one **in nominal order with their nominal times**, even if the call is late. A driver
//! that refills the ring at the nominal time of each interrupt keeps the wire busy, so preemption
//! does not appear as starvation.

mod config;
mod descriptors;
mod interrupt;
mod multi;
mod ring;
mod ring_of;
mod wire;

use core::convert::Infallible;
use taut_path::driver::ChunkSupport;
use taut_path::{Completions, InRing, Packet, TxRing};

pub use config::{FinishedAt, Framing, NicConfig, NicConfigError};
pub use descriptors::{DescriptorRing, DescriptorRule, RingTooSmall};
pub use interrupt::{InterruptRule, RareGap};
pub use multi::{MultiEvent, MultiNic, WireWatch};
use ring::Ring;
pub use ring::WireCounters;
pub use ring_of::RingOf;
use wire::Wire;
pub use wire::{WireTime, link_ns};

use crate::NEVER_NS;

/// An event of the NIC.
#[derive(Debug, PartialEq, Eq)]
pub enum NicEvent<'a> {
    /// A frame, or all frames of a packet, left the wire (or started, with `FinishedAt::Start`).
    /// The packet stays in the ring until it is reaped, which is not before its last frame.
    Frame(SentFrame<'a>),
    /// Call the transmit queue's `complete` with the event's time.
    Interrupt,
}

/// A frame on the wire, or all frames of a packet.
#[derive(Debug, PartialEq, Eq)]
pub struct SentFrame<'a> {
    /// The packet of the frame.
    pub packet: &'a Packet,
    /// Index of the segment in its packet, from 0.
    pub index: u32,
    /// Whether it is the last frame of its packet.
    pub last: bool,
    /// When its last bit leaves, in ns.
    pub ends_ns: u64,
}

/// A NIC with one transmit ring.
pub struct EmulatedNic {
    wire: Wire,
    ring: Ring,
}

impl EmulatedNic {
    /// Creates an idle NIC.
    ///
    /// # Errors
    /// If the rate is 0, or the ring is too small for its largest packet.
    pub fn new(config: NicConfig) -> Result<Self, NicConfigError> {
        Ok(Self {
            wire: Wire::new(&config)?,
            ring: Ring::new(&config, config.seed)?,
        })
    }

    /// Returns the time of the next event, in ns; `None` while the NIC is idle.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        planned(self.wire.frame_ns.min(self.ring.interrupt_ns))
    }

    /// Returns the time of the next interrupt for packets that are already finished, in ns. Packets
    /// that an interrupt has reported do not interrupt again, so a driver that stops at its budget
    /// must poll again.
    #[inline]
    pub fn next_interrupt_ns(&self) -> Option<u64> {
        planned(self.ring.interrupt_ns)
    }

    /// Processes the next event that is due by `until_ns`, and returns it with its nominal time.
    /// Call it until it returns `None`.
    #[inline(always)]
    pub fn advance(&mut self, until_ns: u64) -> Option<(u64, NicEvent<'_>)> {
        // At the same instant the packet leaves first, so that the interrupt reports it.
        if self.wire.frame_ns <= self.ring.interrupt_ns {
            let at_ns = planned(self.wire.frame_ns).filter(|&at_ns| at_ns <= until_ns)?;
            return Some((at_ns, NicEvent::Frame(self.finish_frame(at_ns)?)));
        }
        let at_ns = planned(self.ring.interrupt_ns).filter(|&at_ns| at_ns <= until_ns)?;
        self.ring.interrupt(at_ns);
        Some((at_ns, NicEvent::Interrupt))
    }

    /// Changes the link rate at `now_ns`; the remainder of the packet on the wire is sent at the
    /// new rate. Process the events until `now_ns` first.
    ///
    /// # Errors
    /// If the rate is 0; the rate then stays unchanged.
    pub fn set_rate(&mut self, rate_bits_per_s: u64, now_ns: u64) -> Result<(), NicConfigError> {
        self.wire.set_rate(rate_bits_per_s, now_ns)
    }

    /// Returns the current link rate, in bit/s.
    pub fn rate_bits_per_s(&self) -> u64 {
        self.wire.rate_bits_per_s()
    }

    /// Returns the free descriptors at which a stopped queue should restart.
    pub fn restart_slots(&self) -> u32 {
        self.ring.descriptors.restart_slots()
    }

    /// Returns the counters of the wire.
    pub fn counters(&self) -> WireCounters {
        self.ring.counters
    }

    /// Returns the number of packets in the ring whose last bit has not left.
    pub fn packets_to_send(&self) -> usize {
        self.ring.waiting()
    }

    /// Returns the number of packets in the ring, sent or not.
    pub fn packets_in_ring(&self) -> usize {
        self.ring.len()
    }

    /// Iterates over the packets in the ring, oldest first.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.ring.packets()
    }

    /// Removes the frame from the wire, with its packet if it was the last, and starts the next
    /// one.
    #[inline(always)]
    fn finish_frame(&mut self, at_ns: u64) -> Option<SentFrame<'_>> {
        let frame = self.wire.take()?;
        let at = self.ring.left(&frame);
        let next = if frame.last { 0 } else { frame.index + 1 };
        self.wire.start(self.ring.next(), next, at_ns);
        let packet = if frame.last {
            self.ring.plan_interrupt_after(at_ns);
            self.ring.sent_at(at, at_ns)
        } else {
            self.ring.packet(at)
        };
        Some(SentFrame {
            packet,
            index: frame.index,
            last: frame.last,
            ends_ns: frame.ends_ns,
        })
    }

    #[inline(never)]
    fn leave_idle(&mut self, now_ns: u64) {
        self.wire.start(self.ring.next(), 0, now_ns);
    }
}

fn planned(at_ns: u64) -> Option<u64> {
    (at_ns != NEVER_NS).then_some(at_ns)
}

impl TxRing for EmulatedNic {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.ring.descriptors.slots()
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.ring.descriptors.slots_free()
    }

    #[inline]
    fn slots_of_largest(&self) -> u32 {
        self.ring.descriptors.slots_of_largest()
    }

    #[inline]
    fn chunk_support(&self) -> ChunkSupport {
        ChunkSupport::Any
    }

    // Inlined so that a packet is written to its slot once.
    #[inline(always)]
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.ring.submit(packet);
        Ok(())
    }

    #[inline]
    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.ring.kick();
        if self.wire.on_wire.is_none() {
            self.leave_idle(now_ns);
        }
        Ok(())
    }
}

impl Completions for EmulatedNic {
    type Error = Infallible;

    #[inline]
    fn slots_free(&self) -> u32 {
        self.ring.descriptors.slots_free()
    }

    #[inline]
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        Ok(self.ring.reap(budget_packets, freed))
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.ring.in_ring())
    }
}
