//! What one ring of a NIC holds, and when it interrupts.

use core::mem::replace;

use taut_path::{Frame, InRing, Packet};

use super::config::{NicConfig, NicConfigError};
use super::descriptors::DescriptorRing;
use super::interrupt::Periods;
use super::wire::OnWire;
use crate::NEVER_NS;
use crate::ring::{RingBuffer as Packets, Vacant};

/// What the wire carried so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireCounters {
    /// Packets sent; a super-packet is one.
    pub packets: u64,
    /// Frames on the wire.
    pub frames: u64,
    /// Bytes of link time, padding and gaps included.
    pub time_bytes: u64,
    /// Interrupts fired.
    pub interrupts: u64,
}

/// A packet in a ring.
struct Slot {
    packet: Packet,
    slots: u32,
    /// When it finished; meaningless before that.
    sent_ns: u64,
}

/// What is in a slot that holds nothing.
const NO_PACKET: Packet = Packet::new(Frame::new(u32::MAX), 0);

impl Vacant for Slot {
    const VACANT: Self = Self {
        packet: NO_PACKET,
        slots: 0,
        sent_ns: 0,
    };
}

/// Submitted and not reaped, oldest first: those that are sent, then those that wait.
pub(super) struct Ring {
    packets: Packets<Slot>,
    /// How many, the oldest, are sent.
    sent: usize,
    /// How many of those that are sent, the youngest, no interrupt has told of.
    untold: usize,
    /// How many of those that wait, the oldest, are known to the NIC.
    visible: usize,
    /// Bytes of all that wait.
    waiting_bytes: u64,
    pub(super) descriptors: DescriptorRing,
    /// When it next interrupts, in ns.
    pub(super) interrupt_ns: u64,
    /// No interrupt before this, unless enough packets are finished.
    pub(super) quiet_until_ns: u64,
    periods: Periods,
    pub(super) counters: WireCounters,
}

impl Ring {
    /// An empty one. `seed` is of its interrupts.
    pub(super) fn new(config: &NicConfig, seed: u64) -> Result<Self, NicConfigError> {
        let descriptors = DescriptorRing::new(config.slots, config.rule);
        Ok(Self {
            packets: Packets::new(),
            sent: 0,
            untold: 0,
            visible: 0,
            waiting_bytes: 0,
            descriptors: descriptors.map_err(NicConfigError::Ring)?,
            interrupt_ns: NEVER_NS,
            quiet_until_ns: 0,
            periods: Periods::new(config.interrupt, seed),
            counters: WireCounters::default(),
        })
    }

    /// Packets in it, sent or not.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether something in it is sent.
    pub(super) fn has_sent(&self) -> bool {
        self.sent > 0
    }

    /// When the oldest of those was.
    pub(super) fn oldest_sent_ns(&self) -> Option<u64> {
        let oldest = self.packets.get(0).filter(|_| self.has_sent())?;
        Some(oldest.sent_ns)
    }

    /// Packets that wait.
    pub(super) fn waiting(&self) -> usize {
        self.packets.len() - self.sent
    }

    /// Their bytes.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    // Always: a packet that was just taken is written where it waits, and not twice.
    #[inline(always)]
    pub(super) fn submit(&mut self, packet: Packet) {
        let slots = self.descriptors.take(&packet);
        self.waiting_bytes += u64::from(packet.wire_bytes());
        self.packets.push(Slot {
            packet,
            slots,
            sent_ns: 0,
        });
    }

    /// What waits may be sent.
    #[inline]
    pub(super) fn kick(&mut self) {
        self.visible = self.waiting();
    }

    /// The first that waits, if it may be sent.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<&Packet> {
        (self.visible > 0).then(|| &self.packets.at(self.sent).packet)
    }

    /// This frame of the first that waits has left. Returns where that packet is now.
    #[inline(always)]
    pub(super) fn left(&mut self, frame: &OnWire) -> usize {
        self.counters.frames += frame.time.frames;
        self.counters.time_bytes += frame.time.bytes;
        let at = self.sent;
        if frame.last {
            self.sent += 1;
            self.counters.packets += 1;
            self.untold += 1;
            self.visible -= 1;
        }
        at
    }

    /// The packet at `at` was sent whole at `at_ns`, the last of them.
    #[inline(always)]
    pub(super) fn sent_at(&mut self, at: usize, at_ns: u64) -> &Packet {
        let slot = self.packets.at_mut(at);
        slot.sent_ns = at_ns;
        self.waiting_bytes -= u64::from(slot.packet.wire_bytes());
        &slot.packet
    }

    pub(super) fn packet(&self, at: usize) -> &Packet {
        &self.packets.at(at).packet
    }

    /// Hands up to so many that were sent back, oldest first. Returns whether more were sent.
    #[inline]
    pub(super) fn reap(&mut self, budget_packets: u32, freed: &mut dyn FnMut(Packet)) -> bool {
        for _ in 0..self.sent.min(budget_packets as usize) {
            freed(self.take_first());
        }
        self.reaped();
        self.has_sent()
    }

    /// How many are sent.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// The oldest, which is sent. [`reaped`](Self::reaped) comes after the last.
    #[inline(always)]
    pub(super) fn take_first(&mut self) -> Packet {
        let done = self.packets.at_mut(0);
        // Only the packet is taken out of its slot: what is moved whole is moved several times.
        let (packet, slots) = (replace(&mut done.packet, NO_PACKET), done.slots);
        self.packets.drop_first();
        self.sent -= 1;
        self.descriptors.give_back(slots);
        packet
    }

    /// No interrupt tells of what was sent until now.
    #[inline]
    pub(super) fn tell_nobody(&mut self) {
        self.untold = 0;
    }

    /// No interrupt tells of what was reaped.
    #[inline]
    pub(super) fn reaped(&mut self) {
        if self.untold > self.sent {
            self.untold = self.sent;
            self.plan_interrupt();
        }
    }

    /// It interrupts.
    #[inline(always)]
    pub(super) fn interrupt(&mut self, at_ns: u64) {
        self.untold = 0;
        self.interrupt_ns = NEVER_NS;
        self.quiet_until_ns = at_ns.saturating_add(self.periods.next_ns());
        self.counters.interrupts += 1;
    }

    /// When it next interrupts, now that a packet was sent at `at_ns`, in ns.
    #[inline(always)]
    pub(super) fn plan_interrupt_after(&mut self, at_ns: u64) {
        self.interrupt_ns = if self.untold == 1 && self.periods.rule().packets.is_none() {
            at_ns.max(self.quiet_until_ns)
        } else {
            self.interrupt_for_all(at_ns)
        };
    }

    /// The same where several packets are told of at once. The last of them was sent at `last_ns`.
    fn interrupt_for_all(&self, last_ns: u64) -> u64 {
        let first = self.packets.get(self.sent - self.untold);
        let first = first.filter(|_| self.untold > 1);
        let first_ns = first.map_or(last_ns, |first| first.sent_ns);
        let by_time_ns = first_ns.max(self.quiet_until_ns);
        match self.periods.rule().packets {
            Some(packets) if self.untold >= packets.max(1) as usize => last_ns.min(by_time_ns),
            _ => by_time_ns,
        }
    }

    /// Finds out when it next interrupts, after packets were reaped that no interrupt had told of.
    fn plan_interrupt(&mut self) {
        let last = self.packets.get(self.sent.wrapping_sub(1));
        self.interrupt_ns = match last {
            Some(last) if self.untold > 0 => self.interrupt_for_all(last.sent_ns),
            _ => NEVER_NS,
        };
    }

    /// What is in it, asked slot by slot.
    pub(super) fn in_ring(&self) -> InRing {
        let packets = self.packets.iter().map(|slot| &slot.packet);
        packets.fold(InRing::default(), |sum, packet| InRing {
            packets: sum.packets + 1,
            bytes: sum.bytes.saturating_add(packet.wire_bytes()),
        })
    }
}
