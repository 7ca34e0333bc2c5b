//! An emulated NIC, sans-IO: a ring, a wire and an interrupt rule.
//!
//! It has no clock. Whoever drives it calls [`EmulatedNic::advance`] with the time, and gets its
//! events one by one **in nominal order with their nominal times**, also when the call comes late:
//! a driver that refills the ring at the nominal time of each interrupt keeps the wire busy, so
//! being preempted does not look like starvation.

mod descriptors;
mod interrupt;
mod multi;
mod ring_of;
mod wire;

use core::convert::Infallible;
use core::fmt;
use core::mem::replace;
use taut_path::driver::Pieces;
use taut_path::{Completions, Frame, InRing, Packet, TxRing};

pub use descriptors::{DescriptorRing, DescriptorRule, RingTooSmall};
use interrupt::Periods;
pub use interrupt::{InterruptRule, RareGap};
pub use multi::{MultiEvent, MultiNic, WireWatch};
pub use ring_of::RingOf;
use wire::Clock;
pub use wire::{Framing, WireTime, link_ns};

use crate::NEVER_NS;
use crate::ring::{Ring, Vacant};

/// When a packet counts as finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FinishedAt {
    /// When its last bit has left.
    #[default]
    End,
    /// When its last frame goes on the wire: what is on the wire is no longer in the device queue.
    Start,
}

/// How a NIC is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicConfig {
    /// Link rate, in bit/s; at least 1.
    pub rate_bits_per_s: u64,
    /// What the link adds to each frame.
    pub framing: Framing,
    /// Descriptors of the ring.
    pub slots: u32,
    /// How many of them a packet takes.
    pub rule: DescriptorRule,
    /// When it interrupts.
    pub interrupt: InterruptRule,
    /// When a packet counts as finished.
    pub finished_at: FinishedAt,
    /// Whether each segment of a super-packet is a frame event of its own, rather than all together
    /// with the last.
    pub segments_apart: bool,
    /// Seed of jitter and rare gaps.
    pub seed: u64,
}

impl NicConfig {
    /// A card on a link that adds nothing to a frame: a descriptor for each packet, and an interrupt as soon
    /// as it has left. What differs is said with `..`.
    pub const fn plain(rate_bits_per_s: u64, slots: u32) -> Self {
        Self {
            rate_bits_per_s,
            framing: Framing::BARE,
            slots,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(0),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: 1,
        }
    }
}

/// Why a NIC could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicConfigError {
    /// A link of 0 bit/s sends nothing.
    RateZero,
    /// The ring cannot hold what it must.
    Ring(RingTooSmall),
    /// This field says what only a NIC with one ring can do.
    OneRing(&'static str),
}

impl fmt::Display for NicConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RateZero => f.write_str("the link rate is 0; it must be at least 1 bit/s"),
            Self::Ring(error) => error.fmt(f),
            Self::OneRing(field) => write!(
                f,
                "{field}: a NIC with several rings cannot do that; allowed there are packets that finish at their end, \
                 all segments together, and interrupts by time"
            ),
        }
    }
}

impl core::error::Error for NicConfigError {}

/// Something the NIC did.
#[derive(Debug, PartialEq, Eq)]
pub enum NicEvent<'a> {
    /// A frame left (or began to, where packets finish at their start), or all frames of a packet
    /// did. A packet stays in the ring until it is reaped, which is not before its last frame.
    Frame(WireFrame<'a>),
    /// Call the transmit queue's `complete` with the event's time.
    Interrupt,
}

/// A frame on the wire, or all frames of a packet.
#[derive(Debug, PartialEq, Eq)]
pub struct WireFrame<'a> {
    /// The packet that it is, or a segment of.
    pub packet: &'a Packet,
    /// Which segment of it, from 0.
    pub index: u32,
    /// Whether it is the packet's last.
    pub last: bool,
    /// When its last bit leaves, in ns.
    pub ends_ns: u64,
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

/// The frame that has the wire, or has it next.
#[derive(Clone, Copy)]
struct OnWire {
    index: u32,
    last: bool,
    /// The frame of its packet.
    packet_frame: u32,
    cost: WireTime,
    starts_ns: u64,
    ends_ns: u64,
}

/// A NIC with one transmit ring.
pub struct EmulatedNic {
    /// When it next tells of a frame, and when it next interrupts, in ns.
    frame_ns: u64,
    interrupt_ns: u64,
    /// Submitted and not reaped, oldest first: those that are sent, then those that wait.
    ring: Ring<Slot>,
    /// How many of `ring`, the oldest, are sent.
    sent: usize,
    /// How many of those that are sent, the youngest, no interrupt has told of.
    untold: usize,
    /// How many of those that wait, the oldest, are known to the NIC.
    visible: usize,
    /// The frame of the first that waits that goes next, unless the wire is idle.
    on_wire: Option<OnWire>,
    finished_at: FinishedAt,
    segments_apart: bool,
    framing: Framing,
    wire_free_ns: u64,
    clock: Clock,
    descriptors: DescriptorRing,
    /// No interrupt before this, unless enough packets are finished.
    quiet_until_ns: u64,
    counters: WireCounters,
    /// Bytes of all that wait.
    waiting_bytes: u64,
    periods: Periods,
}

impl EmulatedNic {
    /// An idle NIC.
    ///
    /// # Errors
    /// If the rate is 0, or the ring is too small for its largest packet.
    pub fn new(config: NicConfig) -> Result<Self, NicConfigError> {
        let clock = Clock::new(config.rate_bits_per_s).ok_or(NicConfigError::RateZero)?;
        let descriptors = DescriptorRing::new(config.slots, config.rule);
        Ok(Self {
            frame_ns: NEVER_NS,
            interrupt_ns: NEVER_NS,
            ring: Ring::new(),
            sent: 0,
            untold: 0,
            visible: 0,
            on_wire: None,
            finished_at: config.finished_at,
            segments_apart: config.segments_apart,
            framing: config.framing,
            wire_free_ns: 0,
            clock,
            descriptors: descriptors.map_err(NicConfigError::Ring)?,
            quiet_until_ns: 0,
            counters: WireCounters::default(),
            waiting_bytes: 0,
            periods: Periods::new(config.interrupt, config.seed),
        })
    }

    /// When the NIC next does something, in ns; `None` while it is idle.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        planned(self.frame_ns.min(self.interrupt_ns))
    }

    /// When it next interrupts for what is finished already, in ns. What an interrupt has told of
    /// and nobody reaped does not interrupt again: whoever stops at a budget comes back by himself.
    #[inline]
    pub fn next_interrupt_ns(&self) -> Option<u64> {
        planned(self.interrupt_ns)
    }

    /// Does the next thing that is due by `until_ns`, and says when it nominally happened.
    /// Call it until it returns `None`.
    // Always: whoever drives it knows at once which of the two it is.
    #[inline(always)]
    pub fn advance(&mut self, until_ns: u64) -> Option<(u64, NicEvent<'_>)> {
        // At the same instant the packet leaves first, so that the interrupt reports it.
        if self.frame_ns <= self.interrupt_ns {
            let at_ns = planned(self.frame_ns).filter(|&at_ns| at_ns <= until_ns)?;
            return Some((at_ns, NicEvent::Frame(self.finish_frame(at_ns)?)));
        }
        let at_ns = planned(self.interrupt_ns).filter(|&at_ns| at_ns <= until_ns)?;
        self.untold = 0;
        self.interrupt_ns = NEVER_NS;
        self.quiet_until_ns = at_ns.saturating_add(self.periods.next_ns());
        self.counters.interrupts += 1;
        Some((at_ns, NicEvent::Interrupt))
    }

    /// The frame of the packet that is being sent, or goes next, if there is one.
    #[inline]
    pub fn frame_to_send(&self) -> Option<u32> {
        self.on_wire.as_ref().map(|on_wire| on_wire.packet_frame)
    }

    /// Changes the link rate at `now_ns`; what is left of the packet on the wire goes at the new
    /// rate. Take the events until `now_ns` first.
    ///
    /// # Errors
    /// If the rate is 0; nothing changes.
    pub fn set_rate(&mut self, rate_bits_per_s: u64, now_ns: u64) -> Result<(), NicConfigError> {
        // A frame that had left by then does not leave again.
        let frame = self.on_wire.as_mut().filter(|it| it.ends_ns > now_ns);
        let from_ns = frame.as_ref().map_or(0, |it| it.starts_ns.max(now_ns));
        let left_ns = frame.as_ref().map_or(0, |it| it.ends_ns - from_ns);
        let left_ns = self.clock.set_rate(rate_bits_per_s, left_ns)?;
        if let Some(frame) = frame {
            frame.ends_ns = from_ns.saturating_add(left_ns);
            self.frame_ns = told_ns(frame, self.finished_at);
        }
        Ok(())
    }

    /// Link rate now, in bit/s.
    pub fn rate_bits_per_s(&self) -> u64 {
        self.clock.rate_bits_per_s
    }

    /// Free descriptors at which a stopped queue should start again.
    pub fn restart_slots(&self) -> u32 {
        self.descriptors.restart_slots()
    }

    /// What the wire carried so far.
    pub fn counters(&self) -> WireCounters {
        self.counters
    }

    /// Packets in the ring whose last bit has not left.
    pub fn packets_to_send(&self) -> usize {
        self.ring.len() - self.sent
    }

    /// Their bytes.
    pub fn bytes_to_send(&self) -> u64 {
        self.waiting_bytes
    }

    /// Packets in the ring, sent or not.
    pub fn packets_in_ring(&self) -> usize {
        self.ring.len()
    }

    /// Takes the frame off the wire, and with it its packet if that was the last, and starts what
    /// follows.
    #[inline(always)]
    fn finish_frame(&mut self, at_ns: u64) -> Option<WireFrame<'_>> {
        let OnWire {
            index,
            last,
            cost,
            ends_ns,
            ..
        } = self.on_wire.take()?;
        self.counters.frames += cost.frames;
        self.counters.time_bytes += cost.bytes;
        self.wire_free_ns = ends_ns;
        let at = self.sent;
        if last {
            self.sent += 1;
            self.counters.packets += 1;
            self.untold += 1;
            self.visible -= 1;
        }
        self.start_frame(if last { 0 } else { index + 1 }, at_ns);
        if last {
            self.interrupt_ns = self.interrupt_after(at_ns);
        }
        let slot = self.ring.get_mut(at)?;
        if last {
            slot.sent_ns = at_ns;
            self.waiting_bytes -= u64::from(slot.packet.wire_bytes());
        }
        Some(WireFrame {
            packet: &slot.packet,
            index,
            last,
            ends_ns,
        })
    }

    /// When it next interrupts, now that a packet was sent at `at_ns`, in ns.
    #[inline(always)]
    fn interrupt_after(&self, at_ns: u64) -> u64 {
        if self.untold == 1 && self.periods.rule().packets.is_none() {
            return at_ns.max(self.quiet_until_ns);
        }
        self.interrupt_for_all(at_ns)
    }

    /// The same where several packets are told of at once. The last of them was sent at `last_ns`.
    fn interrupt_for_all(&self, last_ns: u64) -> u64 {
        let first = self.ring.get(self.sent - self.untold);
        let first = first.filter(|_| self.untold > 1);
        let first_ns = first.map_or(last_ns, |first| first.sent_ns);
        let by_time_ns = first_ns.max(self.quiet_until_ns);
        match self.periods.rule().packets {
            Some(packets) if self.untold >= packets.max(1) as usize => last_ns.min(by_time_ns),
            _ => by_time_ns,
        }
    }

    #[inline(never)]
    fn leave_idle(&mut self, now_ns: u64) {
        self.start_frame(0, now_ns);
    }

    /// Puts a frame of the first packet that waits on the wire if both are ready.
    #[inline(always)]
    fn start_frame(&mut self, index: u32, now_ns: u64) {
        self.frame_ns = NEVER_NS;
        if self.visible == 0 {
            return;
        }
        let Some(head) = self.ring.get(self.sent) else {
            return;
        };
        let starts_ns = now_ns.max(self.wire_free_ns);
        if starts_ns > self.wire_free_ns {
            self.clock.forget_rest();
        }
        let (cost, last) = if self.segments_apart {
            self.framing.segment_time(&head.packet, index)
        } else {
            (self.framing.packet_time(&head.packet), true)
        };
        let frame = OnWire {
            index,
            last,
            packet_frame: head.packet.frame().index(),
            cost,
            starts_ns,
            ends_ns: starts_ns.saturating_add(self.clock.hold_ns(cost.bytes)),
        };
        self.frame_ns = told_ns(&frame, self.finished_at);
        self.on_wire = Some(frame);
    }

    /// Finds out when it next interrupts, after packets were reaped that no interrupt had told of.
    fn plan_interrupt(&mut self) {
        let last = self.ring.get(self.sent.wrapping_sub(1));
        self.interrupt_ns = match last {
            Some(last) if self.untold > 0 => self.interrupt_for_all(last.sent_ns),
            _ => NEVER_NS,
        };
    }
}

fn planned(at_ns: u64) -> Option<u64> {
    (at_ns != NEVER_NS).then_some(at_ns)
}

/// When a frame is told of, in ns.
fn told_ns(frame: &OnWire, finished_at: FinishedAt) -> u64 {
    match finished_at {
        FinishedAt::End => frame.ends_ns,
        FinishedAt::Start => frame.starts_ns,
    }
}

impl TxRing for EmulatedNic {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.descriptors.slots()
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.descriptors.slots_free()
    }

    #[inline]
    fn slots_of_largest(&self) -> u32 {
        self.descriptors.slots_of_largest()
    }

    #[inline]
    fn pieces(&self) -> Pieces {
        Pieces::Any
    }

    // Always: a packet that was just taken is written where it waits, and not twice.
    #[inline(always)]
    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        let slots = self.descriptors.take(&packet);
        self.waiting_bytes += u64::from(packet.wire_bytes());
        self.ring.push(Slot {
            packet,
            slots,
            sent_ns: 0,
        });
        Ok(())
    }

    #[inline]
    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        self.visible = self.ring.len() - self.sent;
        if self.on_wire.is_none() {
            self.leave_idle(now_ns);
        }
        Ok(())
    }
}

impl Completions for EmulatedNic {
    type Error = Infallible;

    #[inline]
    fn slots_free(&self) -> u32 {
        self.descriptors.slots_free()
    }

    #[inline]
    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        let untold = self.untold;
        for _ in 0..budget_packets {
            if self.sent == 0 {
                break;
            }
            let Some(done) = self.ring.get_mut(0) else {
                break;
            };
            // Only the packet is taken out of its slot: what is moved whole is moved several times.
            let (packet, slots) = (replace(&mut done.packet, NO_PACKET), done.slots);
            self.ring.drop_first();
            self.sent -= 1;
            self.descriptors.give_back(slots);
            freed(packet);
        }
        self.untold = untold.min(self.sent);
        if self.untold != untold {
            self.plan_interrupt();
        }
        Ok(self.sent > 0)
    }

    fn in_ring(&self) -> Option<InRing> {
        Some(what_is_in(self.ring.iter().map(|slot| &slot.packet)))
    }
}

/// What a ring of these packets holds.
fn what_is_in<'a>(packets: impl Iterator<Item = &'a Packet>) -> InRing {
    packets.fold(InRing::default(), |sum, packet| InRing {
        packets: sum.packets + 1,
        bytes: sum.bytes.saturating_add(packet.wire_bytes()),
    })
}
