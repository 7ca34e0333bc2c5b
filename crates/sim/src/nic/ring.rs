//! State of a NIC's ring, and the time of its next interrupt.

use std::collections::VecDeque;

use taut_path::Packet;

use super::config::NicConfig;
use super::descriptors::{DescriptorRing, NicConfigError};
use super::interrupt::Periods;
use super::wire::OnWire;
use crate::NEVER_NS;

/// Counters of a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireCounters {
    /// Packets sent; a GSO packet counts once.
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
    /// Time at which it was sent; meaningless before.
    sent_ns: u64,
}

/// Packets submitted and not reaped, oldest first: the sent packets, then the queued ones.
pub struct Ring {
    packets: VecDeque<Slot>,
    /// Number of sent packets, at the front.
    sent: usize,
    /// Number of sent packets that no interrupt has reported yet, the most recent ones.
    unreported: usize,
    /// Number of queued packets that are visible to the NIC, the oldest ones.
    visible: usize,
    /// Bytes of all queued packets.
    pub(super) waiting_bytes: u64,
    pub(super) descriptors: DescriptorRing,
    /// When it next interrupts, in ns.
    pub(super) interrupt_ns: u64,
    /// No interrupt before this time, unless enough packets are finished.
    pub(super) quiet_until_ns: u64,
    periods: Periods,
    pub(super) counters: WireCounters,
}

impl Ring {
    /// Creates an empty ring. `seed` is for its interrupts.
    pub(super) fn new(config: &NicConfig, seed: u64) -> Result<Self, NicConfigError> {
        Ok(Self {
            packets: VecDeque::new(),
            sent: 0,
            unreported: 0,
            visible: 0,
            waiting_bytes: 0,
            descriptors: DescriptorRing::new(config.slots, config.rule)?,
            interrupt_ns: NEVER_NS,
            quiet_until_ns: 0,
            periods: Periods::new(config.interrupt, seed),
            counters: WireCounters::default(),
        })
    }

    /// Returns the number of packets, sent or not.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns the time at which the oldest packet was sent.
    pub(super) fn oldest_sent_ns(&self) -> Option<u64> {
        let oldest = self.packets.front().filter(|_| self.sent > 0)?;
        Some(oldest.sent_ns)
    }

    /// Returns the number of queued packets.
    pub(super) fn waiting(&self) -> usize {
        self.packets.len() - self.sent
    }

    // Inlined so that a packet is written to its slot once.
    #[inline(always)]
    pub(super) fn submit(&mut self, packet: Packet) {
        let slots = self.descriptors.take(&packet);
        self.waiting_bytes += u64::from(packet.wire_bytes());
        self.packets.push_back(Slot {
            packet,
            slots,
            sent_ns: 0,
        });
    }

    /// Makes the queued packets visible to the NIC.
    #[inline]
    pub(super) fn kick(&mut self) {
        self.visible = self.waiting();
    }

    /// Returns the first queued packet if it is visible.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<&Packet> {
        (self.visible > 0).then(|| &self.packets[self.sent].packet)
    }

    /// Records that this frame of the first queued packet has left. Returns the packet's index.
    #[inline(always)]
    pub(super) fn left(&mut self, frame: &OnWire) -> usize {
        self.counters.frames += frame.time.frames;
        self.counters.time_bytes += frame.time.bytes;
        let at = self.sent;
        if frame.last {
            self.sent += 1;
            self.counters.packets += 1;
            self.unreported += 1;
            self.visible -= 1;
        }
        at
    }

    /// Records that the packet at `at` was sent completely at `at_ns`. Returns its bytes.
    #[inline(always)]
    pub(super) fn sent_at(&mut self, at: usize, at_ns: u64) -> u32 {
        let slot = &mut self.packets[at];
        slot.sent_ns = at_ns;
        let bytes = slot.packet.wire_bytes();
        self.waiting_bytes -= u64::from(bytes);
        bytes
    }

    #[inline(always)]
    pub(super) fn packet(&self, at: usize) -> &Packet {
        &self.packets[at].packet
    }

    /// Reaps up to the given number of sent packets, oldest first. Returns `true` if more remain.
    #[inline]
    pub(super) fn reap(&mut self, budget_packets: u32, freed: &mut dyn FnMut(Packet)) -> bool {
        for _ in 0..self.sent.min(budget_packets as usize) {
            let Some(done) = self.packets.pop_front() else {
                break;
            };
            self.sent -= 1;
            self.descriptors.release(done.slots);
            freed(done.packet);
        }
        // The reaped packets need no interrupt.
        if self.unreported > self.sent {
            self.unreported = self.sent;
            self.plan_interrupt();
        }
        self.sent > 0
    }

    /// Suppresses the interrupt for the packets sent so far.
    #[inline]
    pub(super) fn suppress_interrupt(&mut self) {
        self.unreported = 0;
    }

    /// Records an interrupt.
    #[inline(always)]
    pub(super) fn interrupt(&mut self, at_ns: u64) {
        self.unreported = 0;
        self.interrupt_ns = NEVER_NS;
        self.quiet_until_ns = at_ns.saturating_add(self.periods.next_ns());
        self.counters.interrupts += 1;
    }

    /// Returns the time of the next interrupt after a packet was sent at `at_ns`, in ns.
    #[inline(always)]
    pub(super) fn plan_interrupt_after(&mut self, at_ns: u64) {
        self.interrupt_ns = if self.unreported == 1 && self.periods.rule.packets.is_none() {
            at_ns.max(self.quiet_until_ns)
        } else {
            self.interrupt_for_all(at_ns)
        };
    }

    /// Returns the time of the next interrupt after several packets, the last sent at `last_ns`.
    fn interrupt_for_all(&self, last_ns: u64) -> u64 {
        let first = self.packets.get(self.sent - self.unreported);
        let first = first.filter(|_| self.unreported > 1);
        let first_ns = first.map_or(last_ns, |first| first.sent_ns);
        let by_time_ns = first_ns.max(self.quiet_until_ns);
        match self.periods.rule.packets {
            Some(packets) if self.unreported >= packets.max(1) as usize => last_ns.min(by_time_ns),
            _ => by_time_ns,
        }
    }

    /// Recomputes the next interrupt after unreported packets were reaped.
    fn plan_interrupt(&mut self) {
        let last = self.packets.get(self.sent.wrapping_sub(1));
        self.interrupt_ns = match last {
            Some(last) if self.unreported > 0 => self.interrupt_for_all(last.sent_ns),
            _ => NEVER_NS,
        };
    }

    /// Iterates over the packets, oldest first.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().map(|slot| &slot.packet)
    }
}
