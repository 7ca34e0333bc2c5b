//! An emulated NIC with several transmit rings on one wire.
//!
//! The wire serves the rings that have something in turn, a packet each. Every ring interrupts for
//! itself, as with a vector for each queue; their first interrupts are spread evenly over a period.

use core::cell::RefCell;
use core::convert::Infallible;
use std::collections::VecDeque;
use std::rc::Rc;

use taut_path::{Completions, InRing, Packet, TxRing};

use super::descriptors::DescriptorRing;
use super::interrupt::Periods;
use super::wire::Clock;
use super::{Framing, NicConfig, NicConfigError, WireCounters, what_is_in};

/// Something the NIC did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultiEvent {
    /// A packet of this ring left.
    Sent(usize),
    /// This ring interrupts: call its queue's `complete` with the event's time.
    Interrupt(usize),
}

/// A NIC with several rings, in the hands of whoever drives it and of its [`RingOf`]s.
pub struct MultiNic {
    framing: Framing,
    clock: Clock,
    rings: Vec<Ring>,
    /// Which ring's packet has the wire, and until when, in ns.
    on_wire: Option<(usize, u64)>,
    /// The ring that is asked first for the next packet.
    next_ring: usize,
}

struct Ring {
    slots: DescriptorRing,
    /// Submitted and not sent, oldest first, with their slots.
    waiting: VecDeque<(Packet, u32)>,
    /// How many of them the NIC knows.
    visible: usize,
    finished: VecDeque<(Packet, u32)>,
    /// Some of `finished` was told by no interrupt.
    untold: bool,
    periods: Periods,
    quiet_until_ns: u64,
    counters: WireCounters,
}

/// One ring of a [`MultiNic`]: the driver of one queue. A clone is a handle to the same ring, so one
/// of two can be the ring of a queue and the other its completions.
#[derive(Clone)]
pub struct RingOf {
    nic: Rc<RefCell<MultiNic>>,
    ring: usize,
}

impl MultiNic {
    /// An idle NIC with `rings` rings, each as `config` says, and their drivers. Packets finish at
    /// their end, all segments together, and interrupt by time only.
    ///
    /// # Errors
    /// As for a NIC with one ring.
    pub fn new(
        config: &NicConfig,
        rings: usize,
    ) -> Result<(Rc<RefCell<Self>>, Vec<RingOf>), NicConfigError> {
        let clock = Clock::new(config.rate_bits_per_s).ok_or(NicConfigError::RateZero)?;
        let made = (0..rings).map(|ring| Ring::new(config, ring as u64, rings as u64));
        let nic = Rc::new(RefCell::new(Self {
            framing: config.framing,
            clock,
            rings: made.collect::<Result<_, _>>()?,
            on_wire: None,
            next_ring: 0,
        }));
        let drivers = (0..rings).map(|ring| RingOf {
            nic: nic.clone(),
            ring,
        });
        let drivers = drivers.collect();
        Ok((nic, drivers))
    }

    /// When the NIC next does something, in ns; `None` while it is idle.
    pub fn next_event_ns(&self) -> Option<u64> {
        let wire = self.on_wire.map(|(_, ends_ns)| ends_ns);
        let interrupts = self.rings.iter().filter_map(Ring::next_interrupt_ns);
        interrupts.chain(wire).min()
    }

    /// Does the next thing, if there is one, and says when it nominally happened.
    pub fn advance(&mut self) -> Option<(u64, MultiEvent)> {
        let at_ns = self.next_event_ns()?;
        // At the same instant the packet leaves first, so that an interrupt reports it.
        if let Some((ring, ends_ns)) = self.on_wire
            && ends_ns == at_ns
        {
            self.finish(ring, at_ns);
            return Some((at_ns, MultiEvent::Sent(ring)));
        }
        let due = |ring: &Ring| ring.next_interrupt_ns() == Some(at_ns);
        let ring = self.rings.iter().position(due)?;
        let interrupting = &mut self.rings[ring];
        interrupting.untold = false;
        interrupting.quiet_until_ns = at_ns.saturating_add(interrupting.periods.next_ns());
        interrupting.counters.interrupts += 1;
        Some((at_ns, MultiEvent::Interrupt(ring)))
    }

    /// What the wire carried from `ring` so far.
    pub fn counters(&self, ring: usize) -> WireCounters {
        self.rings[ring].counters
    }

    fn finish(&mut self, ring: usize, now_ns: u64) {
        let from = &mut self.rings[ring];
        if let Some((packet, slots)) = from.waiting.pop_front() {
            let time = self.framing.packet_time(&packet);
            from.counters.packets += 1;
            from.counters.frames += time.frames;
            from.counters.time_bytes += time.bytes;
            from.visible -= 1;
            from.untold = true;
            // An interrupt tells of what has left by then.
            from.quiet_until_ns = from.quiet_until_ns.max(now_ns);
            from.finished.push_back((packet, slots));
        }
        self.on_wire = None;
        self.start(now_ns, true);
    }

    /// Puts the next packet on the wire if that is free, from the ring whose turn it is.
    fn start(&mut self, now_ns: u64, back_to_back: bool) {
        if self.on_wire.is_some() {
            return;
        }
        if !back_to_back {
            self.clock.forget_rest();
        }
        let count = self.rings.len();
        for step in 0..count {
            let ring = (self.next_ring + step) % count;
            if self.rings[ring].visible == 0 {
                continue;
            }
            if let Some((packet, _)) = self.rings[ring].waiting.front() {
                let bytes = self.framing.packet_time(packet).bytes;
                let ends_ns = now_ns.saturating_add(self.clock.hold_ns(bytes));
                self.on_wire = Some((ring, ends_ns));
                self.next_ring = (ring + 1) % count;
                return;
            }
        }
    }
}

impl Ring {
    fn new(config: &NicConfig, ring: u64, rings: u64) -> Result<Self, NicConfigError> {
        let slots = DescriptorRing::new(config.slots, config.rule).map_err(NicConfigError::Ring)?;
        Ok(Self {
            slots,
            waiting: VecDeque::new(),
            visible: 0,
            finished: VecDeque::new(),
            untold: false,
            periods: Periods::new(config.interrupt, config.seed.wrapping_add(ring)),
            quiet_until_ns: config.interrupt.period_ns / rings * ring,
            counters: WireCounters::default(),
        })
    }

    fn next_interrupt_ns(&self) -> Option<u64> {
        self.untold.then_some(self.quiet_until_ns)
    }
}

impl RingOf {
    /// The ring's number.
    pub fn ring(&self) -> usize {
        self.ring
    }

    fn with<T>(&self, use_ring: impl FnOnce(&mut Ring) -> T) -> T {
        use_ring(&mut self.nic.borrow_mut().rings[self.ring])
    }
}

impl TxRing for RingOf {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.with(|ring| ring.slots.slots())
    }

    fn slots_free(&self) -> u32 {
        self.with(|ring| ring.slots.slots_free())
    }

    fn slots_of_largest(&self) -> u32 {
        self.with(|ring| ring.slots.slots_of_largest())
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.with(|ring| {
            let slots = ring.slots.take(&packet);
            ring.waiting.push_back((packet, slots));
        });
        Ok(())
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.with(|ring| ring.visible = ring.waiting.len());
        self.nic.borrow_mut().start(now_ns, false);
        Ok(())
    }
}

impl Completions for RingOf {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        for _ in 0..budget_packets {
            let done = self.with(|ring| {
                let (packet, slots) = ring.finished.pop_front()?;
                ring.slots.give_back(slots);
                ring.untold &= !ring.finished.is_empty();
                Some(packet)
            });
            match done {
                Some(packet) => freed(packet),
                None => return Ok(false),
            }
        }
        Ok(self.with(|ring| !ring.finished.is_empty()))
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(self.with(|ring| {
            let packets = ring.waiting.iter().chain(&ring.finished);
            what_is_in(packets.map(|(packet, _)| packet))
        }))
    }
}
