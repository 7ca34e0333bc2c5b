//! An emulated NIC, sans-IO: a ring, a wire and an interrupt rule.
//!
//! It has no clock. Whoever drives it calls [`EmulatedNic::advance`] with the time, and gets its
//! events one by one **in nominal order with their nominal times**, also when the call comes late:
//! a driver that refills the ring at the nominal time of each interrupt keeps the wire busy, so
//! being preempted does not look like starvation.

mod interrupt;
mod wire;

use core::convert::Infallible;
use core::fmt;
use std::collections::VecDeque;

use taut_path::ring::{DescriptorRing, DescriptorRule, RingTooSmall};
use taut_path::{Completions, Packet, TxRing};

use interrupt::Periods;
pub use interrupt::{InterruptRule, RareGap};
pub use wire::{WireTime, frame_time_bytes, wire_time};

/// Bits in so many bytes, times the nanoseconds of a second: link time is this over bit/s.
const BIT_NS_PER_BYTE: u128 = 8 * 1_000_000_000;

/// How a NIC is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicConfig {
    /// Link rate, in bit/s; at least 1.
    pub rate_bits_per_s: u64,
    /// Descriptors of the ring.
    pub slots: u32,
    /// How many of them a packet takes.
    pub rule: DescriptorRule,
    /// When it interrupts.
    pub interrupt: InterruptRule,
    /// Seed of jitter and rare gaps.
    pub seed: u64,
}

/// Why a NIC could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicConfigError {
    /// A link of 0 bit/s sends nothing.
    RateZero,
    /// The ring cannot hold what it must.
    Ring(RingTooSmall),
}

impl fmt::Display for NicConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RateZero => f.write_str("the link rate is 0; it must be at least 1 bit/s"),
            Self::Ring(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NicConfigError {}

/// Something the NIC did.
#[derive(Debug, PartialEq, Eq)]
pub enum NicEvent<'a> {
    /// The last bit of the packet left. Its bytes may be delivered; it stays in the ring until it
    /// is reaped.
    Sent(&'a Packet),
    /// Call the transmit queue's `complete` with the event's time.
    Interrupt,
}

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

struct InRing {
    packet: Packet,
    slots: u32,
    /// When its last bit left; meaningless before that.
    sent_ns: u64,
}

/// A NIC with one transmit ring.
pub struct EmulatedNic {
    rate_bits_per_s: u64,
    ring: DescriptorRing,
    /// Submitted and not sent, oldest first; only the first `visible` are known to the NIC.
    waiting: VecDeque<InRing>,
    visible: usize,
    /// When the packet at the head of `waiting` will have left, if it is on the wire.
    sending_until_ns: Option<u64>,
    /// Part of a nanosecond that the wire owes, in units of 1/rate: without it, fast links would
    /// drift by the rounding of each frame.
    owed: u128,
    wire_free_ns: u64,
    /// Sent and not reaped, oldest first.
    finished: VecDeque<InRing>,
    /// How many of `finished`, the youngest, no interrupt has told of.
    untold: usize,
    periods: Periods,
    /// No interrupt before this, unless enough packets are finished.
    quiet_until_ns: u64,
    counters: WireCounters,
}

impl EmulatedNic {
    /// An idle NIC.
    ///
    /// # Errors
    /// If the rate is 0, or the ring is too small for its largest packet.
    pub fn new(config: NicConfig) -> Result<Self, NicConfigError> {
        if config.rate_bits_per_s == 0 {
            return Err(NicConfigError::RateZero);
        }
        let ring = DescriptorRing::new(config.slots, config.rule).map_err(NicConfigError::Ring)?;
        Ok(Self {
            rate_bits_per_s: config.rate_bits_per_s,
            ring,
            waiting: VecDeque::new(),
            visible: 0,
            sending_until_ns: None,
            owed: 0,
            wire_free_ns: 0,
            finished: VecDeque::new(),
            untold: 0,
            periods: Periods::new(config.interrupt, config.seed),
            quiet_until_ns: 0,
            counters: WireCounters::default(),
        })
    }

    /// When the NIC next does something, in ns; `None` while it is idle.
    pub fn next_event_ns(&self) -> Option<u64> {
        match (self.sending_until_ns, self.next_interrupt_ns()) {
            (Some(sent), Some(interrupt)) => Some(sent.min(interrupt)),
            (sent, interrupt) => sent.or(interrupt),
        }
    }

    /// When it next interrupts for what is finished already, in ns. What an interrupt has told of
    /// and nobody reaped does not interrupt again: whoever stops at a budget comes back by himself.
    pub fn next_interrupt_ns(&self) -> Option<u64> {
        let first = self.finished.get(self.finished.len() - self.untold)?;
        let by_time = first.sent_ns.max(self.quiet_until_ns);
        match self.periods.rule().packets {
            Some(packets) if self.untold >= packets.max(1) as usize => {
                self.finished.back().map(|last| last.sent_ns.min(by_time))
            }
            _ => Some(by_time),
        }
    }

    /// Does the next thing that is due by `until_ns`, and says when it nominally happened.
    /// Call it until it returns `None`.
    pub fn advance(&mut self, until_ns: u64) -> Option<(u64, NicEvent<'_>)> {
        let at_ns = self.next_event_ns().filter(|&at_ns| at_ns <= until_ns)?;
        // At the same instant the packet leaves first, so that the interrupt reports it.
        if self.sending_until_ns == Some(at_ns) {
            self.finish_head(at_ns);
            let sent = self.finished.back()?;
            return Some((at_ns, NicEvent::Sent(&sent.packet)));
        }
        self.untold = 0;
        self.quiet_until_ns = at_ns.saturating_add(self.periods.next_ns());
        self.counters.interrupts += 1;
        Some((at_ns, NicEvent::Interrupt))
    }

    /// Changes the link rate at `now_ns`; what is left of the packet on the wire goes at the new
    /// rate. Take the events until `now_ns` first.
    ///
    /// # Errors
    /// If the rate is 0; nothing changes.
    pub fn set_rate(&mut self, rate_bits_per_s: u64, now_ns: u64) -> Result<(), NicConfigError> {
        if rate_bits_per_s == 0 {
            return Err(NicConfigError::RateZero);
        }
        // A packet that had left by then does not leave again.
        if let Some(until_ns) = &mut self.sending_until_ns
            && *until_ns > now_ns
        {
            let left_ns = u128::from(*until_ns - now_ns);
            let stretched = left_ns * u128::from(self.rate_bits_per_s);
            let left_ns = (stretched / u128::from(rate_bits_per_s)).min(u64::MAX.into()) as u64;
            *until_ns = now_ns.saturating_add(left_ns);
        }
        self.rate_bits_per_s = rate_bits_per_s;
        self.owed = 0;
        Ok(())
    }

    /// Link rate now, in bit/s.
    pub fn rate_bits_per_s(&self) -> u64 {
        self.rate_bits_per_s
    }

    /// Free descriptors at which a stopped queue should start again.
    pub fn restart_slots(&self) -> u32 {
        self.ring.restart_slots()
    }

    /// What the wire carried so far.
    pub fn counters(&self) -> WireCounters {
        self.counters
    }

    /// Packets in the ring whose last bit has not left.
    pub fn packets_to_send(&self) -> usize {
        self.waiting.len()
    }

    /// Packets in the ring, sent or not.
    pub fn packets_in_ring(&self) -> usize {
        self.waiting.len() + self.finished.len()
    }

    fn finish_head(&mut self, at_ns: u64) {
        let Some(mut sent) = self.waiting.pop_front() else {
            return;
        };
        sent.sent_ns = at_ns;
        let cost = wire_time(&sent.packet);
        self.counters.packets += 1;
        self.counters.frames += cost.frames;
        self.counters.time_bytes += cost.bytes;
        self.finished.push_back(sent);
        self.untold += 1;
        self.visible -= 1;
        self.sending_until_ns = None;
        self.wire_free_ns = at_ns;
        self.start_head(at_ns);
    }

    /// Puts the head of the ring on the wire if both are ready.
    fn start_head(&mut self, now_ns: u64) {
        if self.sending_until_ns.is_some() || self.visible == 0 {
            return;
        }
        let Some(head) = self.waiting.front() else {
            return;
        };
        let start_ns = now_ns.max(self.wire_free_ns);
        if start_ns > self.wire_free_ns {
            self.owed = 0;
        }
        let rate = u128::from(self.rate_bits_per_s);
        let bit_ns = u128::from(wire_time(&head.packet).bytes) * BIT_NS_PER_BYTE + self.owed;
        self.owed = bit_ns % rate;
        let length_ns = (bit_ns / rate).min(u64::MAX.into()) as u64;
        self.sending_until_ns = Some(start_ns.saturating_add(length_ns));
    }
}

impl TxRing for EmulatedNic {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.ring.slots_free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.ring.slots_of_largest()
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) {
        let slots = self.ring.take(&packet);
        self.waiting.push_back(InRing {
            packet,
            slots,
            sent_ns: 0,
        });
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.visible = self.waiting.len();
        self.start_head(now_ns);
        Ok(())
    }
}

impl Completions for EmulatedNic {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.ring.slots_free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        for _ in 0..budget_packets {
            let Some(done) = self.finished.pop_front() else {
                return Ok(false);
            };
            self.untold = self.untold.min(self.finished.len());
            self.ring.give_back(done.slots);
            freed(done.packet);
        }
        Ok(!self.finished.is_empty())
    }
}
