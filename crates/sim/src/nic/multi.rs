//! An emulated NIC with several transmit rings on one wire: what all testbeds of several queues
//! stand on.
//!
//! The wire serves the rings that have something in turn, a packet each. A ring interrupts by rule
//! for itself, as with a vector for each queue (the first interrupts are spread evenly over a
//! period), or not at all: then whoever drives the NIC says when the ring is reaped.

use core::cell::RefCell;
use core::mem::replace;
use std::rc::Rc;

use taut_path::Packet;

use super::descriptors::DescriptorRing;
use super::interrupt::Periods;
use super::ring_of::{Interrupts, Ring, RingOf};
use super::wire::{Clock, WireTime, link_ns};
use super::{FinishedAt, Framing, NicConfig, NicConfigError, WireCounters};

/// Something the NIC did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultiEvent {
    /// A packet of this ring left.
    Sent(usize),
    /// This ring interrupts: call its queue's `complete` with the event's time.
    Interrupt(usize),
}

/// Hears of the wire.
pub trait WireWatch {
    /// A packet of `bytes`, in its ring since `submitted_ns`, had the wire.
    #[inline]
    fn sent(&mut self, _bytes: u32, _submitted_ns: u64, _starts_ns: u64, _ends_ns: u64) {}

    /// One was handed back.
    fn reported(&mut self, _bytes: u32, _submitted_ns: u64, _now_ns: u64) {}

    /// The wire had nothing to send.
    fn was_idle(&mut self, _since_ns: u64, _until_ns: u64) {}
}

impl WireWatch for () {}

/// A NIC with several rings, in the hands of whoever drives it and of its [`RingOf`]s.
pub struct MultiNic<W = ()> {
    framing: Framing,
    clock: Clock,
    rings: Vec<Ring>,
    on_wire: Option<OnWire>,
    /// The ring that is asked first for the next packet.
    next_ring: usize,
    /// When the last packet's last bit left, or the watch was last told of an idle wire.
    free_ns: u64,
    pub(crate) watch: W,
}

/// The packet that has the wire.
#[derive(Clone, Copy)]
struct OnWire {
    ring: usize,
    bytes: u32,
    time: WireTime,
    submitted_ns: u64,
    starts_ns: u64,
    ends_ns: u64,
}

/// A NIC, and the driver of each of its rings.
type WithRings<W> = (Rc<RefCell<MultiNic<W>>>, Vec<RingOf<W>>);

impl MultiNic {
    /// An idle NIC with `rings` rings, each as `config` says, and their drivers. Packets finish at
    /// their end, all segments together, and interrupt by time only.
    ///
    /// # Errors
    /// As for a NIC with one ring, and if `config` says otherwise.
    pub fn new(
        config: &NicConfig,
        rings: usize,
    ) -> Result<(Rc<RefCell<Self>>, Vec<RingOf>), NicConfigError> {
        refuse_for_one_ring(config)?;
        let interrupts = |ring: u64| Interrupts {
            periods: Periods::new(config.interrupt, config.seed.wrapping_add(ring)),
            untold: false,
            quiet_until_ns: config.interrupt.period_ns / rings as u64 * ring,
        };
        Self::with(config, rings, (), |ring| Some(interrupts(ring)))
    }
}

/// Refuses what would not be done.
fn refuse_for_one_ring(config: &NicConfig) -> Result<(), NicConfigError> {
    let fields = [
        ("finished_at", config.finished_at != FinishedAt::End),
        ("segments_apart", config.segments_apart),
        ("interrupt.packets", config.interrupt.packets.is_some()),
    ];
    match fields.into_iter().find(|(_, said)| *said) {
        Some((field, _)) => Err(NicConfigError::OneRing(field)),
        None => Ok(()),
    }
}

impl<W: WireWatch> MultiNic<W> {
    /// The same without interrupts, and watched.
    pub(crate) fn without_interrupts(
        config: &NicConfig,
        rings: usize,
        watch: W,
    ) -> Result<WithRings<W>, NicConfigError> {
        Self::with(config, rings, watch, |_| None)
    }

    fn with(
        config: &NicConfig,
        rings: usize,
        watch: W,
        interrupts: impl Fn(u64) -> Option<Interrupts>,
    ) -> Result<WithRings<W>, NicConfigError> {
        let clock = Clock::new(config.rate_bits_per_s).ok_or(NicConfigError::RateZero)?;
        let ring = |number| {
            let slots = DescriptorRing::new(config.slots, config.rule);
            Ok(Ring::new(
                slots.map_err(NicConfigError::Ring)?,
                interrupts(number),
            ))
        };
        let nic = Rc::new(RefCell::new(Self {
            framing: config.framing,
            clock,
            rings: (0..rings as u64).map(ring).collect::<Result<_, _>>()?,
            on_wire: None,
            next_ring: 0,
            free_ns: 0,
            watch,
        }));
        let driver = |ring| RingOf {
            nic: nic.clone(),
            ring,
            silent: false,
        };
        let drivers = (0..rings).map(driver).collect();
        Ok((nic, drivers))
    }

    /// When the NIC next does something, in ns; `None` while it is idle.
    pub fn next_event_ns(&self) -> Option<u64> {
        let wire = self.on_wire.map(|packet| packet.ends_ns);
        let interrupts = self.rings.iter().filter_map(Ring::next_interrupt_ns);
        interrupts.chain(wire).min()
    }

    /// Does the next thing, if there is one, and says when it nominally happened.
    pub fn advance(&mut self) -> Option<(u64, MultiEvent)> {
        let at_ns = self.next_event_ns()?;
        // At the same instant the packet leaves first, so that an interrupt reports it.
        if let Some(packet) = self.on_wire.filter(|packet| packet.ends_ns == at_ns) {
            self.on_wire = self.after(packet);
            return Some((at_ns, MultiEvent::Sent(packet.ring)));
        }
        let due = |ring: &Ring| ring.next_interrupt_ns() == Some(at_ns);
        let ring = self.rings.iter().position(due)?;
        self.rings[ring].interrupt(at_ns);
        Some((at_ns, MultiEvent::Interrupt(ring)))
    }

    /// Sends what has left by `now_ns`. Call it before anything else of that time.
    pub(crate) fn send_until(&mut self, now_ns: u64) {
        let mut on_wire = self.on_wire;
        while let Some(packet) = on_wire
            && packet.ends_ns <= now_ns
        {
            on_wire = self.after(packet);
        }
        self.on_wire = on_wire;
    }

    /// What the wire carried from `ring` so far.
    pub fn counters(&self, ring: usize) -> WireCounters {
        self.rings[ring].counters
    }

    /// Changes the rate; what is left of the packet on the wire goes at the new one.
    ///
    /// # Errors
    /// If the rate is 0; nothing changes.
    pub fn set_rate(&mut self, rate_bits_per_s: u64, now_ns: u64) -> Result<(), NicConfigError> {
        let ends_ns = self.on_wire.map_or(now_ns, |packet| packet.ends_ns);
        let left_ns = ends_ns.saturating_sub(now_ns);
        let left_ns = self.clock.set_rate(rate_bits_per_s, left_ns)?;
        if let Some(packet) = &mut self.on_wire {
            packet.ends_ns = now_ns.saturating_add(left_ns);
        }
        Ok(())
    }

    /// How long what is in the ring holds the wire from `now_ns` on, what the other rings send in
    /// their turns meanwhile included, in ns.
    pub(crate) fn ahead_ns(&self, ring: usize, now_ns: u64) -> u64 {
        let Some(on_wire) = self.on_wire else {
            return 0;
        };
        let behind = |at: usize| {
            let on_wire_bytes = if at == on_wire.ring { on_wire.bytes } else { 0 };
            self.rings[at].unsent_bytes - u64::from(on_wire_bytes)
        };
        let others = (0..self.rings.len()).filter(|&at| at != ring);
        let others: u64 = others.map(|at| behind(at).min(behind(ring))).sum();
        let ns = link_ns(behind(ring) + others, self.clock.rate_bits_per_s);
        ns.saturating_add(on_wire.ends_ns.saturating_sub(now_ns))
    }

    /// Bytes in all rings that the wire has not sent.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| ring.unsent_bytes).sum()
    }

    /// Bytes in all rings, sent or not.
    pub(crate) fn in_flight_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| ring.in_flight_bytes).sum()
    }

    pub(crate) fn packets_in_rings(&self) -> u64 {
        self.rings.iter().map(|it| it.packets.len() as u64).sum()
    }

    /// Tells the watch of all until `now_ns`, by which what has left [was sent](Self::send_until): of what is
    /// still in the rings, and of the time of which it has not heard. What it hears later is from then on.
    pub(crate) fn tell_until(&mut self, now_ns: u64) {
        match &mut self.on_wire {
            Some(packet) => {
                self.watch.sent(0, now_ns, packet.starts_ns, now_ns);
                (packet.starts_ns, packet.submitted_ns) = (now_ns, now_ns);
            }
            None => self
                .watch
                .was_idle(replace(&mut self.free_ns, now_ns), now_ns),
        }
        for ring in &mut self.rings {
            for at in 0..ring.packets.len() {
                let Some(it) = ring.packets.get_mut(at) else {
                    break;
                };
                let bytes = it.packet.wire_bytes();
                let submitted_ns = replace(&mut it.submitted_ns, now_ns);
                self.watch.reported(bytes, submitted_ns, now_ns);
                if at >= ring.sent {
                    self.watch.sent(bytes, submitted_ns, now_ns, now_ns);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn ring(&mut self, ring: usize) -> &mut Ring {
        &mut self.rings[ring]
    }

    /// What is in `ring` may be sent.
    pub(super) fn kick(&mut self, ring: usize, now_ns: u64) {
        let ring = &mut self.rings[ring];
        ring.visible = ring.packets.len();
        if self.on_wire.is_none() {
            self.watch.was_idle(self.free_ns, now_ns);
            self.clock.forget_rest();
            self.on_wire = self.next_packet(now_ns);
        }
    }

    /// Hands the oldest packet of `ring` back, if it was sent.
    #[inline]
    pub(super) fn reap(&mut self, ring: usize, now_ns: u64) -> Option<Packet> {
        let (packet, submitted_ns) = self.rings[ring].reap()?;
        let bytes = packet.wire_bytes();
        self.watch.reported(bytes, submitted_ns, now_ns);
        Some(packet)
    }

    /// The packet has left. Returns what follows it on the wire.
    // Always, as what it calls: in the loop that sends until a time, what it needs stays in registers.
    #[inline(always)]
    fn after(&mut self, packet: OnWire) -> Option<OnWire> {
        let OnWire {
            ring,
            bytes,
            time,
            submitted_ns,
            starts_ns,
            ends_ns,
        } = packet;
        self.watch.sent(bytes, submitted_ns, starts_ns, ends_ns);
        let from = &mut self.rings[ring];
        from.sent += 1;
        from.unsent_bytes -= u64::from(bytes);
        from.counters.packets += 1;
        from.counters.frames += time.frames;
        from.counters.time_bytes += time.bytes;
        if let Some(interrupts) = &mut from.interrupts {
            interrupts.untold = true;
            // An interrupt tells of what has left by then.
            interrupts.quiet_until_ns = interrupts.quiet_until_ns.max(ends_ns);
        }
        self.free_ns = ends_ns;
        self.next_packet(ends_ns)
    }

    /// The packet that has the wire from `now_ns` on, from the ring whose turn it is.
    #[inline(always)]
    fn next_packet(&mut self, now_ns: u64) -> Option<OnWire> {
        let mut ring = self.next_ring;
        for _ in 0..self.rings.len() {
            let after = if ring + 1 == self.rings.len() {
                0
            } else {
                ring + 1
            };
            let from = &self.rings[ring];
            if from.sent < from.visible
                && let Some(next) = from.packets.get(from.sent)
            {
                let packet = &next.packet;
                let time = self.framing.packet_time(packet);
                self.next_ring = after;
                return Some(OnWire {
                    ring,
                    bytes: packet.wire_bytes(),
                    time,
                    submitted_ns: next.submitted_ns,
                    starts_ns: now_ns,
                    ends_ns: now_ns.saturating_add(self.clock.hold_ns(time.bytes)),
                });
            }
            ring = after;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use taut_path::{Frame, TxRing};

    use super::*;

    #[test]
    fn what_comes_last_waits_for_as_much_of_other_rings_as_of_its_own() {
        // A byte a ns.
        let config = NicConfig::plain(8_000_000_000, 64);
        let (nic, mut rings) = MultiNic::new(&config, 2).expect("the settings are valid");
        for (ring, packets) in [(0, 10), (1, 1)] {
            for frame in 0..packets {
                let packet = Packet::new(Frame::new(frame), 1_000);
                assert!(rings[ring].submit(packet, 0).is_ok());
            }
            let Ok(()) = rings[ring].kick(0);
        }
        // The rest of what is on the wire, its own packet, and one more of the other.
        assert_eq!(nic.borrow().ahead_ns(1, 400), 600 + 1_000 + 1_000);
        assert_eq!(nic.borrow().ahead_ns(0, 400), 600 + 9_000 + 1_000);
    }
}
