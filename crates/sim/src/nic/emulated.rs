//! The emulated NIC: transmit rings on one wire.
//!
//! The wire serves the non-empty rings round-robin, one packet each. With interrupts, each ring
//! applies the moderation rule separately, as with a vector for each queue; the first interrupts
//! are spread uniformly over a period. Without interrupts, the caller decides when a ring is
//! reaped.

use core::mem::replace;

use taut_path::Packet;

use super::config::NicConfig;
use super::descriptors::NicConfigError;
use super::ring::{Ring, WireCounters};
use super::wire::{Wire, link_ns};
use super::{NicEvent, SentFrame, WireWatch};
use crate::NEVER_NS;

/// A NIC with one ring, whose driver it is. [`SharedNic`] has several.
pub struct EmulatedNic<W = (), R = [Ring; 1]> {
    wire: Wire,
    pub(super) rings: R,
    /// Whether rings interrupt.
    interrupts: bool,
    /// The ring of the frame on the wire.
    on_ring: usize,
    /// The ring that is served next if it has a packet.
    next_ring: usize,
    /// Time until which idle time was reported to the watch, in ns.
    idle_reported_ns: u64,
    /// The rings return no completions.
    pub(crate) silent: bool,
    pub(crate) watch: W,
}

/// A NIC with several rings, each with a driver of its own: [`SharedNic::shared`] creates both.
pub type SharedNic<W = ()> = EmulatedNic<W, Vec<Ring>>;

impl EmulatedNic {
    /// Creates an idle NIC with one ring.
    ///
    /// # Errors
    /// If the rate is 0, or the ring is too small for its largest packet.
    pub fn new(config: NicConfig) -> Result<Self, NicConfigError> {
        let ring = Ring::new(&config, config.seed)?;
        Self::idle(&config, [ring], (), true)
    }
}

impl<W: WireWatch, R: AsRef<[Ring]> + AsMut<[Ring]>> EmulatedNic<W, R> {
    pub(super) fn idle(
        config: &NicConfig,
        rings: R,
        watch: W,
        interrupts: bool,
    ) -> Result<Self, NicConfigError> {
        Ok(Self {
            wire: Wire::new(config)?,
            rings,
            interrupts,
            on_ring: 0,
            next_ring: 0,
            idle_reported_ns: 0,
            silent: false,
            watch,
        })
    }

    /// Returns the time of the next event, in ns; `None` while the NIC is idle.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        planned(self.interrupt_ns().min(self.wire.frame_ns))
    }

    /// Returns the time of the next interrupt for packets that are already finished, in ns. Packets
    /// that an interrupt has reported do not interrupt again, so a driver that stops at its budget
    /// must poll again.
    #[inline]
    pub fn next_interrupt_ns(&self) -> Option<u64> {
        planned(self.interrupt_ns())
    }

    #[inline]
    fn interrupt_ns(&self) -> u64 {
        let rings = self.rings.as_ref().iter().map(|ring| ring.interrupt_ns);
        rings.min().unwrap_or(NEVER_NS)
    }

    /// Processes the next event that is due by `until_ns`, and returns it with its nominal time.
    /// Call it until it returns `None`.
    #[inline(always)]
    pub fn advance(&mut self, until_ns: u64) -> Option<(u64, NicEvent<'_>)> {
        let (frame_ns, interrupt_ns) = (self.wire.frame_ns, self.interrupt_ns());
        // At the same instant the packet leaves first, so that the interrupt reports it.
        if frame_ns <= interrupt_ns {
            let at_ns = planned(frame_ns).filter(|&at_ns| at_ns <= until_ns)?;
            return Some((at_ns, NicEvent::Frame(self.finish_frame(at_ns)?)));
        }
        let at_ns = planned(interrupt_ns).filter(|&at_ns| at_ns <= until_ns)?;
        let due = |ring: &Ring| ring.interrupt_ns == at_ns;
        let ring = self.rings.as_ref().iter().position(due)?;
        self.rings.as_mut()[ring].interrupt(at_ns);
        Some((at_ns, NicEvent::Interrupt(ring)))
    }

    /// Sends the packets that leave by `until_ns`, or by an interrupt before that. Returns the time
    /// and the ring of that interrupt.
    pub(crate) fn next_interrupt(&mut self, until_ns: u64) -> Option<(u64, usize)> {
        loop {
            if let (at_ns, NicEvent::Interrupt(ring)) = self.advance(until_ns)? {
                return Some((at_ns, ring));
            }
        }
    }

    /// Returns the sending time of the oldest packet of `ring` according to the current queues, in
    /// ns.
    pub(crate) fn oldest_ns(&self, ring: usize) -> Option<u64> {
        let sent_ns = self.rings.as_ref()[ring].oldest_sent_ns();
        let on_wire = self.wire.on_wire.filter(|_| self.on_ring == ring);
        sent_ns.or(on_wire.map(|frame| frame.ends_ns))
    }

    /// Sends the packets that leave by `now_ns`. Call it before any other call with that time.
    pub(crate) fn send_until(&mut self, now_ns: u64) {
        while self.wire.frame_ns <= now_ns && self.wire.frame_ns != NEVER_NS {
            self.finish_frame(self.wire.frame_ns);
        }
    }

    /// Returns the free descriptors at which a stopped queue should restart.
    pub fn restart_slots(&self) -> u32 {
        self.rings.as_ref()[0].descriptors.restart_slots()
    }

    /// Returns the wire counters of `ring`.
    pub fn counters(&self, ring: usize) -> WireCounters {
        self.rings.as_ref()[ring].counters
    }

    /// Changes the rate; the remainder of the packet on the wire is sent at the new rate.
    ///
    /// # Errors
    /// If the rate is 0; the rate then stays unchanged.
    pub fn set_rate(&mut self, rate_bits_per_s: u64, now_ns: u64) -> Result<(), NicConfigError> {
        self.wire.set_rate(rate_bits_per_s, now_ns)
    }

    /// Returns the time until the wire has sent the packets that are in the ring at `now_ns`, in
    /// ns. This includes the packets that other rings send in between.
    pub(crate) fn ahead_ns(&self, ring: usize, now_ns: u64) -> u64 {
        let Some(on_wire) = self.wire.on_wire else {
            return 0;
        };
        let behind = |at: usize| {
            let waiting_bytes = self.rings.as_ref()[at].waiting_bytes;
            let next = self.rings.as_ref()[at]
                .next()
                .filter(|_| at == self.on_ring);
            waiting_bytes - next.map_or(0, |packet| packet.wire_bytes().into())
        };
        let others = (0..self.rings.as_ref().len()).filter(|&at| at != ring);
        let others: u64 = others.map(|at| behind(at).min(behind(ring))).sum();
        let ns = link_ns(behind(ring) + others, self.wire.rate_bits_per_s);
        ns.saturating_add(on_wire.ends_ns.saturating_sub(now_ns))
    }

    /// Returns the number of rings.
    pub(crate) fn rings(&self) -> usize {
        self.rings.as_ref().len()
    }

    /// Returns the current link rate, in bit/s.
    pub fn rate_bits_per_s(&self) -> u64 {
        self.wire.rate_bits_per_s
    }

    /// Returns the number of packets whose last bit has not left.
    pub fn packets_to_send(&self) -> usize {
        self.rings.as_ref().iter().map(Ring::waiting).sum()
    }

    /// Returns the number of packets in the rings, sent or not.
    pub fn packets_in_rings(&self) -> usize {
        self.rings.as_ref().iter().map(Ring::len).sum()
    }

    /// Iterates over the packets of `ring`, oldest first.
    pub fn packets(&self, ring: usize) -> impl Iterator<Item = &Packet> {
        self.rings.as_ref()[ring].packets()
    }

    /// Reports the idle time of the wire until `now_ns` to the watch. Call
    /// [`send_until`](Self::send_until) with that time first.
    pub(crate) fn report_idle_until(&mut self, now_ns: u64) {
        match &mut self.wire.on_wire {
            Some(frame) => {
                let starts_ns = replace(&mut frame.starts_ns, now_ns);
                self.watch.sent(0, starts_ns, now_ns);
            }
            None => {
                let since_ns = self.idle_since_ns();
                self.watch.was_idle(since_ns, now_ns);
                self.idle_reported_ns = now_ns;
            }
        }
    }

    fn idle_since_ns(&self) -> u64 {
        self.wire.free_ns.max(self.idle_reported_ns)
    }

    #[inline(always)]
    pub(super) fn submit_to(&mut self, ring: usize, packet: Packet, now_ns: u64) {
        self.watch.submitted(packet.wire_bytes(), now_ns);
        self.rings.as_mut()[ring].submit(packet);
    }

    /// Makes the packets in `ring` visible to the wire.
    #[inline]
    pub(super) fn kick_ring(&mut self, ring: usize, now_ns: u64) {
        self.rings.as_mut()[ring].kick();
        if self.wire.on_wire.is_none() {
            self.leave_idle(now_ns);
        }
    }

    // Rare, so that `kick_ring` stays small enough to be inlined.
    #[inline(never)]
    fn leave_idle(&mut self, now_ns: u64) {
        let since_ns = self.idle_since_ns();
        self.watch.was_idle(since_ns, now_ns);
        self.start_packet(now_ns);
    }

    /// Finishes the frame on the wire and starts the next one.
    #[inline(always)]
    fn finish_frame(&mut self, at_ns: u64) -> Option<SentFrame<'_>> {
        let frame = self.wire.take()?;
        let on_ring = self.on_ring;
        let ring = &mut self.rings.as_mut()[on_ring];
        let at = ring.left(&frame);
        let mut bytes = 0;
        if frame.last {
            bytes = ring.sent_at(at, at_ns);
            if self.interrupts {
                ring.plan_interrupt_after(at_ns);
            } else {
                ring.suppress_interrupt();
            }
            self.start_packet(at_ns);
        } else {
            self.wire.start(ring.next(), frame.index + 1, at_ns);
        }
        self.watch.sent(bytes, frame.starts_ns, frame.ends_ns);
        Some(SentFrame {
            ring: on_ring,
            packet: self.rings.as_ref()[on_ring].packet(at),
            index: frame.index,
            last: frame.last,
            ends_ns: frame.ends_ns,
        })
    }

    /// Puts the next packet on the wire, from the ring whose turn it is.
    #[inline(always)]
    fn start_packet(&mut self, now_ns: u64) {
        for _ in 0..self.rings.as_ref().len() {
            let ring = self.next_ring;
            self.next_ring = if ring + 1 == self.rings.as_ref().len() {
                0
            } else {
                ring + 1
            };
            let packet = self.rings.as_ref()[ring].next();
            if packet.is_some() {
                self.on_ring = ring;
                return self.wire.start(packet, 0, now_ns);
            }
        }
        self.wire.start(None, 0, now_ns);
    }
}

#[inline]
fn planned(at_ns: u64) -> Option<u64> {
    (at_ns != NEVER_NS).then_some(at_ns)
}

#[cfg(test)]
mod tests {
    use taut_path::{Completions, Frame, TxRing};

    use super::*;

    #[test]
    fn last_packet_waits_for_equal_shares_of_rings() {
        // A byte takes 1 ns.
        let config = NicConfig::plain(8_000_000_000, 64);
        let (nic, mut rings) =
            SharedNic::shared(&config, 2, (), true).expect("the settings are valid");
        for (ring, packets) in [(0, 10), (1, 1)] {
            for frame in 0..packets {
                let packet = Packet::new(Frame::new(frame), 1_000);
                assert!(rings[ring].submit(packet, 0).is_ok());
            }
            let Ok(()) = rings[ring].kick(0);
        }
        // The remainder of the packet on the wire, its own packet, and one more of the other ring.
        assert_eq!(nic.borrow().ahead_ns(1, 400), 600 + 1_000 + 1_000);
        assert_eq!(nic.borrow().ahead_ns(0, 400), 600 + 9_000 + 1_000);
    }

    #[test]
    fn no_interrupts_after_reaping_if_disabled() {
        let config = NicConfig::plain(8_000_000_000, 64);
        let (nic, mut rings) = SharedNic::shared(&config, 1, (), false).expect("valid");
        for frame in 0..3 {
            let packet = Packet::new(Frame::new(frame), 1_000);
            assert!(rings[0].submit(packet, 0).is_ok());
        }
        let Ok(()) = rings[0].kick(0);
        nic.borrow_mut().send_until(2_000);
        let Ok(_) = rings[0].reap(2_000, 1, &mut |packet| drop(packet.into_frame()));
        // Only the third packet is left.
        assert_eq!(nic.borrow().next_event_ns(), Some(3_000));
        nic.borrow_mut().send_until(3_000);
        assert_eq!(nic.borrow().next_event_ns(), None);
    }
}
