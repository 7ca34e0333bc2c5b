//! One ring of a NIC that has several: what it holds, and the driver of a queue above it.

use core::cell::RefCell;
use core::convert::Infallible;
use core::mem::replace;
use std::rc::Rc;

use taut_path::{Completions, InRing, Packet, TxRing};

use super::descriptors::DescriptorRing;
use super::interrupt::Periods;
use super::multi::{MultiNic, WireWatch};
use super::{NO_PACKET, WireCounters};
use crate::ring::{Ring as Packets, Vacant};

/// A packet in a ring.
pub(super) struct Slot {
    pub(super) packet: Packet,
    slots: u32,
    pub(super) submitted_ns: u64,
}

impl Vacant for Slot {
    const VACANT: Self = Self {
        packet: NO_PACKET,
        slots: 0,
        submitted_ns: 0,
    };
}

/// What a ring holds.
pub(super) struct Ring {
    slots: DescriptorRing,
    /// First what is sent and not reaped, then what is not sent, oldest first.
    pub(super) packets: Packets<Slot>,
    pub(super) sent: usize,
    /// How many of `packets` the NIC knows.
    pub(super) visible: usize,
    pub(super) unsent_bytes: u64,
    pub(super) in_flight_bytes: u64,
    pub(super) interrupts: Option<Interrupts>,
    pub(super) counters: WireCounters,
}

/// The interrupts of a ring by rule.
pub(super) struct Interrupts {
    pub(super) periods: Periods,
    /// Something is sent of which no interrupt told.
    pub(super) untold: bool,
    pub(super) quiet_until_ns: u64,
}

/// One ring of a [`MultiNic`]: the driver of one queue. A clone is a handle to the same ring, so one
/// of two can be the ring of a queue and the other its completions.
pub struct RingOf<W = ()> {
    pub(super) nic: Rc<RefCell<MultiNic<W>>>,
    pub(super) ring: usize,
    /// Nobody asks the device: it hands nothing back.
    pub(crate) silent: bool,
}

// By hand, for the watch need not be cloned.
impl<W> Clone for RingOf<W> {
    fn clone(&self) -> Self {
        Self {
            nic: self.nic.clone(),
            ring: self.ring,
            silent: self.silent,
        }
    }
}

impl Ring {
    pub(super) fn new(slots: DescriptorRing, interrupts: Option<Interrupts>) -> Self {
        Self {
            slots,
            packets: Packets::new(),
            sent: 0,
            visible: 0,
            unsent_bytes: 0,
            in_flight_bytes: 0,
            interrupts,
            counters: WireCounters::default(),
        }
    }

    pub(super) fn next_interrupt_ns(&self) -> Option<u64> {
        let interrupts = self.interrupts.as_ref().filter(|it| it.untold)?;
        Some(interrupts.quiet_until_ns)
    }

    pub(super) fn interrupt(&mut self, now_ns: u64) {
        if let Some(interrupts) = &mut self.interrupts {
            interrupts.untold = false;
            interrupts.quiet_until_ns = now_ns.saturating_add(interrupts.periods.next_ns());
            self.counters.interrupts += 1;
        }
    }

    // Always: a packet that was just taken is written where it waits, and not twice.
    #[inline(always)]
    fn submit(&mut self, packet: Packet, submitted_ns: u64) {
        let bytes = u64::from(packet.wire_bytes());
        self.unsent_bytes += bytes;
        self.in_flight_bytes += bytes;
        let slots = self.slots.take(&packet);
        self.packets.push(Slot {
            packet,
            slots,
            submitted_ns,
        });
    }

    /// The oldest packet that was sent, if there is one, and since when it was in the ring.
    #[inline]
    pub(super) fn reap(&mut self) -> Option<(Packet, u64)> {
        if self.sent == 0 {
            return None;
        }
        let done = self.packets.get_mut(0)?;
        let (packet, slots) = (replace(&mut done.packet, NO_PACKET), done.slots);
        let submitted_ns = done.submitted_ns;
        self.packets.drop_first();
        self.sent -= 1;
        self.visible -= 1;
        self.in_flight_bytes -= u64::from(packet.wire_bytes());
        self.slots.give_back(slots);
        Some((packet, submitted_ns))
    }
}

impl<W: WireWatch> RingOf<W> {
    /// The ring's number.
    pub fn ring(&self) -> usize {
        self.ring
    }

    #[inline(always)]
    fn with<T>(&self, use_ring: impl FnOnce(&mut Ring) -> T) -> T {
        use_ring(self.nic.borrow_mut().ring(self.ring))
    }
}

impl<W: WireWatch> TxRing for RingOf<W> {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.with(|ring| ring.slots.slots())
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.with(|ring| ring.slots.slots_free())
    }

    fn slots_of_largest(&self) -> u32 {
        self.with(|ring| ring.slots.slots_of_largest())
    }

    #[inline(always)]
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.with(|ring| ring.submit(packet, now_ns));
        Ok(())
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.nic.borrow_mut().kick(self.ring, now_ns);
        Ok(())
    }
}

impl<W: WireWatch> Completions for RingOf<W> {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    #[inline]
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        if self.silent {
            return Ok(false);
        }
        for _ in 0..budget_packets {
            // Not borrowed while the packet goes on.
            let Some(packet) = self.nic.borrow_mut().reap(self.ring, now_ns) else {
                break;
            };
            freed(packet);
        }
        Ok(self.with(|ring| {
            let is_empty = ring.sent == 0;
            if let Some(interrupts) = &mut ring.interrupts {
                interrupts.untold &= !is_empty;
            }
            !is_empty
        }))
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.with(|ring| InRing {
            packets: ring.packets.len() as u32,
            bytes: u32::try_from(ring.in_flight_bytes).unwrap_or(u32::MAX),
        }))
    }
}
