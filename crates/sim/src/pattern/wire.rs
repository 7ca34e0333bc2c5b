//! A device that finishes what its wire has sent and says so only when it is asked.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

use taut_path::{Completions, InRing, Packet, TxRing};

use super::book::Book;

const NS_PER_S: u64 = 1_000_000_000;

struct Slot {
    packet: Packet,
    submitted_ns: u64,
}

/// One ring: first what the wire has sent and nobody reaped, then what it has not.
#[derive(Default)]
struct Ring {
    packets: VecDeque<Slot>,
    sent: usize,
    unsent_bytes: u64,
    in_flight_bytes: u64,
}

/// What has the wire.
#[derive(Clone, Copy)]
struct OnWire {
    ring: usize,
    bytes: u32,
    starts_ns: u64,
    ends_ns: u64,
}

/// Rings that take turns on one wire. Frames cost their bytes and nothing else.
pub(super) struct Wire {
    rings: Vec<Ring>,
    slots: u32,
    bytes_per_s: u64,
    /// Part of a nanosecond that the wire owes, in units of 1/rate.
    owed: u64,
    on_wire: Option<OnWire>,
    last_ring: usize,
    /// When the last packet's last bit left.
    free_ns: u64,
    /// Since when something waited for room, if anything does.
    waiting_since_ns: Option<u64>,
    pub(super) book: Book,
}

impl Wire {
    pub(super) fn new(rings: usize, slots: u32, bytes_per_s: u64, book: Book) -> Self {
        Self {
            rings: (0..rings).map(|_| Ring::default()).collect(),
            slots,
            bytes_per_s,
            owed: 0,
            on_wire: None,
            last_ring: 0,
            free_ns: 0,
            waiting_since_ns: None,
            book,
        }
    }

    /// Sends what has left by `now_ns`. Call it before anything else of that time.
    pub(super) fn advance(&mut self, now_ns: u64) {
        while let Some(on_wire) = self.on_wire
            && on_wire.ends_ns <= now_ns
        {
            self.finish(on_wire);
            self.start(on_wire.ends_ns);
        }
    }

    fn finish(&mut self, on_wire: OnWire) {
        let ring = &mut self.rings[on_wire.ring];
        if let Some(sent) = ring.packets.get(ring.sent) {
            let bytes = sent.packet.wire_bytes();
            ring.unsent_bytes -= u64::from(bytes);
            self.book
                .sent(bytes, sent.submitted_ns, on_wire.starts_ns, on_wire.ends_ns);
        }
        ring.sent += 1;
        self.on_wire = None;
        self.free_ns = on_wire.ends_ns;
    }

    /// Puts the next packet on the idle wire, from the ring after the one that had it last.
    fn start(&mut self, now_ns: u64) {
        let (last, rings) = (self.last_ring, self.rings.len());
        let waits = |&at: &usize| self.rings[at].packets.len() > self.rings[at].sent;
        let next = (last + 1..=last + rings).map(|at| at % rings).find(waits);
        let Some(ring) = next else {
            return;
        };
        let bytes = self.rings[ring].packets[self.rings[ring].sent]
            .packet
            .wire_bytes();
        let work = u64::from(bytes) * NS_PER_S + self.owed;
        self.owed = work % self.bytes_per_s;
        self.last_ring = ring;
        self.on_wire = Some(OnWire {
            ring,
            bytes,
            starts_ns: now_ns,
            ends_ns: now_ns.saturating_add(work / self.bytes_per_s),
        });
    }

    /// Changes the rate; what is left of the packet on the wire goes at the new one.
    pub(super) fn set_rate(&mut self, bytes_per_s: u64, now_ns: u64) {
        if let Some(on_wire) = &mut self.on_wire {
            let left_ns = u128::from(on_wire.ends_ns.saturating_sub(now_ns));
            let left_ns = left_ns * u128::from(self.bytes_per_s) / u128::from(bytes_per_s);
            on_wire.ends_ns = now_ns.saturating_add(left_ns.min(u64::MAX.into()) as u64);
        }
        self.bytes_per_s = bytes_per_s;
        self.owed = 0;
    }

    /// Something waits from now on, or nothing does.
    pub(super) fn set_waiting(&mut self, waiting: bool, now_ns: u64) {
        self.waiting_since_ns = match self.waiting_since_ns {
            Some(since_ns) if waiting => Some(since_ns),
            _ => waiting.then_some(now_ns),
        };
    }

    /// Counts the time until `now_ns` in which the wire had nothing while something waited.
    fn count_dry(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.waiting_since_ns {
            self.book.dry(since_ns.max(self.free_ns), now_ns);
        }
    }

    /// How long what is in the ring holds the wire from `now_ns` on, what the other rings send in
    /// their turns meanwhile included, in ns.
    pub(super) fn ahead_ns(&self, ring: usize, now_ns: u64) -> u64 {
        let Some(on_wire) = self.on_wire else {
            return 0;
        };
        let behind = |at: usize| {
            let on_wire_bytes = if at == on_wire.ring { on_wire.bytes } else { 0 };
            self.rings[at].unsent_bytes - u64::from(on_wire_bytes)
        };
        let others = (0..self.rings.len()).filter(|&at| at != ring);
        let others: u64 = others.map(|at| behind(at).min(behind(ring))).sum();
        let bytes = u128::from(behind(ring) + others);
        let ns = bytes * u128::from(NS_PER_S) / u128::from(self.bytes_per_s);
        (ns.min(u64::MAX.into()) as u64).saturating_add(on_wire.ends_ns.saturating_sub(now_ns))
    }

    pub(super) fn unsent_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| ring.unsent_bytes).sum()
    }

    pub(super) fn in_flight_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| ring.in_flight_bytes).sum()
    }

    pub(super) fn packets_in_rings(&self) -> u64 {
        self.rings.iter().map(|it| it.packets.len() as u64).sum()
    }

    /// Counts what is still in the rings and the time that is not counted yet.
    pub(super) fn close(&mut self, now_ns: u64) {
        if let Some(on_wire) = self.on_wire {
            self.book.sent(0, now_ns, on_wire.starts_ns, now_ns);
        } else {
            self.count_dry(now_ns);
        }
        for ring in &self.rings {
            for (at, it) in ring.packets.iter().enumerate() {
                let bytes = it.packet.wire_bytes();
                self.book.reported(bytes, it.submitted_ns, now_ns);
                if at >= ring.sent {
                    self.book.sent(bytes, it.submitted_ns, now_ns, now_ns);
                }
            }
        }
    }
}

/// One ring of the wire, as the device of a queue.
pub(super) struct Port {
    wire: Rc<RefCell<Wire>>,
    ring: usize,
    /// Nobody asks the device: what is handed on is what it said before.
    pub(super) silent: bool,
}

impl Port {
    pub(super) fn new(wire: Rc<RefCell<Wire>>, ring: usize) -> Self {
        Self {
            wire,
            ring,
            silent: false,
        }
    }
}

impl TxRing for Port {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.wire.borrow().slots
    }

    fn slots_free(&self) -> u32 {
        let wire = self.wire.borrow();
        let used = wire.rings[self.ring].packets.len();
        wire.slots.saturating_sub(used as u32)
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let ring = &mut self.wire.borrow_mut().rings[self.ring];
        ring.unsent_bytes += u64::from(packet.wire_bytes());
        ring.in_flight_bytes += u64::from(packet.wire_bytes());
        ring.packets.push_back(Slot {
            packet,
            submitted_ns: now_ns,
        });
        Ok(())
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Infallible> {
        let mut wire = self.wire.borrow_mut();
        if wire.on_wire.is_none() {
            wire.count_dry(now_ns);
            wire.owed = 0;
            wire.start(now_ns);
        }
        Ok(())
    }
}

impl Completions for Port {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        if self.silent {
            return Ok(false);
        }
        let wire = &mut *self.wire.borrow_mut();
        let ring = &mut wire.rings[self.ring];
        for _ in 0..budget_packets {
            if ring.sent == 0 {
                break;
            }
            let Some(done) = ring.packets.pop_front() else {
                break;
            };
            ring.sent -= 1;
            let bytes = done.packet.wire_bytes();
            ring.in_flight_bytes -= u64::from(bytes);
            wire.book.reported(bytes, done.submitted_ns, now_ns);
            freed(done.packet);
        }
        Ok(ring.sent > 0)
    }

    fn in_ring(&self) -> Option<InRing> {
        let ring = &self.wire.borrow().rings[self.ring];
        Some(InRing {
            packets: ring.packets.len() as u32,
            bytes: u32::try_from(ring.in_flight_bytes).unwrap_or(u32::MAX),
        })
    }
}
