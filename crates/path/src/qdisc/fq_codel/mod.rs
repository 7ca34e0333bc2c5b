//! A queue for each flow, served in turn, with CoDel on each (RFC 8290).

mod fattest;
mod settings;
mod slab;

use alloc::vec::Vec;

use super::codel_state::{CodelConfig, CodelState, Waiting};
use super::{Backlog, Qdisc};
use crate::packet::{DropReason, Packet, PacketSink};
use fattest::Fattest;
use slab::{Line, NONE, Slab, weight};

pub(super) use settings::FqCodelSettings;

/// Packets dropped at once from the flow that is too long, at most: finding it is the dear part.
const MAX_BULK_DROP_PACKETS: u32 = 64;

/// The most flows that can be told apart.
const MAX_FLOWS: u32 = 65_536;

/// What FQ-CoDel is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodelConfig {
    /// Packets of all flows together.
    pub limit_packets: u32,
    /// Queues that flows are hashed to, 1 to 65,536; what is outside counts as the nearest.
    pub flows: u32,
    /// Bytes that each flow may send in its turn, at least 1: less would be no turn at all.
    pub quantum_bytes: u32,
    /// Memory that the packets may hold together.
    pub memory_limit_bytes: u64,
    /// Which flows share a queue depends on this.
    pub seed: u32,
    /// What each queue is held to.
    pub codel: CodelConfig,
}

impl Default for FqCodelConfig {
    /// What RFC 8290 and `tc` choose.
    fn default() -> Self {
        Self {
            limit_packets: 10_240,
            flows: 1024,
            // A full Ethernet frame without its check sequence.
            quantum_bytes: 1514,
            memory_limit_bytes: 32 << 20,
            seed: 0,
            codel: CodelConfig {
                ecn: true,
                ..CodelConfig::default()
            },
        }
    }
}

/// `fq_codel`: flows are served in turn, those that begin to send first.
#[derive(Debug)]
pub struct FqCodel {
    flows: Vec<Flow>,
    /// Flows that began to send and have not used up their first quantum.
    new: List,
    old: List,
    slab: Slab,
    held: Held,
    fattest: Fattest,
    config: FqCodelConfig,
}

/// What all flows hold together.
#[derive(Debug, Default)]
struct Held {
    backlog: Backlog,
    memory_bytes: u64,
}

/// A flow fills one cache line: whatever happens to it touches one.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Flow {
    line: Line,
    codel: CodelState,
    /// Bytes that it may still send in this turn; negative after a packet that took more.
    credit_bytes: i64,
    /// The flow behind it in its list.
    next: u32,
    /// Whether it is in a list: it has packets, or had some a moment ago.
    listed: bool,
    /// Whether its weight is noted as changed.
    noted: bool,
}

const _: () = assert!(size_of::<Flow>() == 64);

/// A list of flows, each linked to the next.
#[derive(Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    fn push(&mut self, flows: &mut [Flow], index: u32) {
        flows[index as usize].next = NONE;
        match flows.get_mut(self.last as usize) {
            Some(last) => last.next = index,
            None => self.first = index,
        }
        self.last = index;
    }

    /// Takes the first away.
    fn pop(&mut self, flows: &[Flow]) {
        if let Some(first) = flows.get(self.first as usize) {
            self.first = first.next;
        }
        if self.first == NONE {
            self.last = NONE;
        }
    }
}

/// The packets of one flow.
struct FlowQueue<'a> {
    line: &'a mut Line,
    slab: &'a mut Slab,
    held: &'a mut Held,
}

impl Waiting for FlowQueue<'_> {
    #[inline]
    fn oldest(&mut self) -> Option<(&mut Packet, u64)> {
        self.slab.oldest(self.line)
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.slab.pop(self.line)?;
        self.held.backlog.remove(&packet);
        self.held.memory_bytes -= u64::from(packet.charge_bytes());
        Some(packet)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.line.bytes
    }
}

impl FqCodel {
    /// Queues as `config` says. Allocates for all of its packets and flows, and never again.
    pub fn new(config: FqCodelConfig) -> Self {
        let flows = config.flows.clamp(1, MAX_FLOWS) as usize;
        Self {
            flows: (0..flows).map(|_| Flow::default()).collect(),
            new: List::EMPTY,
            old: List::EMPTY,
            // One more: a packet is kept before room is made for it.
            slab: Slab::new(super::capacity(config.limit_packets) + 1),
            held: Held::default(),
            fattest: Fattest::new(flows),
            config: FqCodelConfig {
                quantum_bytes: config.quantum_bytes.max(1),
                ..config
            },
        }
    }

    /// The queue of a flow: its hash mixed with the seed, so that flows that share a queue under
    /// one seed do not under another.
    pub fn queue_of(&self, flow: u32) -> u32 {
        // The finalizer of MurmurHash3: each bit of the input changes each bit of the output.
        let mut hash = flow ^ self.config.seed;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * self.flows.len() as u64) >> 32) as u32
    }

    /// Notes that the weight of a flow changes.
    fn note(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if !flow.noted {
            flow.noted = true;
            self.fattest.note(index);
        }
    }

    /// Why something has to go, if it has.
    fn excess(&self) -> Option<DropReason> {
        if self.held.backlog.packets > u64::from(self.config.limit_packets) {
            Some(DropReason::QueueFull)
        } else if self.held.memory_bytes > self.config.memory_limit_bytes {
            Some(DropReason::MemoryFull)
        } else {
            None
        }
    }

    /// Drops from the head of the fattest flow, until half of it is gone or
    /// [`MAX_BULK_DROP_PACKETS`] are.
    fn drop_from_fattest(&mut self, reason: DropReason, sink: &mut dyn PacketSink) {
        let flows = &mut self.flows;
        let index = self.fattest.find(|index| {
            let flow = &mut flows[index as usize];
            flow.noted = false;
            flow.line.bytes
        });
        self.note(index);
        let flow = &mut self.flows[index as usize];
        let keep_bytes = flow.line.bytes / 2;
        let mut queue = FlowQueue {
            line: &mut flow.line,
            slab: &mut self.slab,
            held: &mut self.held,
        };
        for _ in 0..MAX_BULK_DROP_PACKETS {
            let Some(packet) = queue.pop() else { break };
            sink.dropped(packet, reason);
            if queue.bytes() <= keep_bytes {
                break;
            }
        }
        if queue.bytes() == 0 {
            flow.codel.emptied();
        }
    }

    /// Lets the flow at the head send, or gives it its turn later. `None` if it did not send.
    fn serve(
        &mut self,
        index: u32,
        is_new: bool,
        now_ns: u64,
        sink: &mut dyn PacketSink,
    ) -> Option<Packet> {
        self.note(index);
        let flow = &mut self.flows[index as usize];
        let mut queue = FlowQueue {
            line: &mut flow.line,
            slab: &mut self.slab,
            held: &mut self.held,
        };
        let packet = flow
            .codel
            .dequeue(&self.config.codel, now_ns, &mut queue, sink);
        if let Some(packet) = &packet {
            flow.credit_bytes -= weight(packet) as i64;
        } else if is_new {
            // Not away yet: a flow that comes back at once would be new again, and others starve.
            self.new.pop(&self.flows);
            self.old.push(&mut self.flows, index);
        } else {
            flow.listed = false;
            self.old.pop(&self.flows);
        }
        packet
    }
}

impl Qdisc for FqCodel {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        let index = self.queue_of(packet.flow);
        self.note(index);
        self.held.backlog.add(&packet);
        self.held.memory_bytes += u64::from(packet.charge_bytes());
        let flow = &mut self.flows[index as usize];
        self.slab.push(&mut flow.line, packet, now_ns);
        if !flow.listed {
            flow.listed = true;
            flow.credit_bytes = self.config.quantum_bytes.into();
            self.new.push(&mut self.flows, index);
        }
        while let Some(reason) = self.excess() {
            self.drop_from_fattest(reason, sink);
        }
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        loop {
            let is_new = self.new.first != NONE;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = list.first;
            let flow = self.flows.get_mut(index as usize)?;
            if flow.credit_bytes <= 0 {
                flow.credit_bytes += i64::from(self.config.quantum_bytes);
                list.pop(&self.flows);
                self.old.push(&mut self.flows, index);
                continue;
            }
            let packet = self.serve(index, is_new, now_ns, sink);
            if packet.is_some() {
                return packet;
            }
        }
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        let lists = [
            core::mem::replace(&mut self.new, List::EMPTY),
            core::mem::replace(&mut self.old, List::EMPTY),
        ];
        for mut list in lists {
            while list.first != NONE {
                let index = list.first;
                list.pop(&self.flows);
                self.note(index);
                let flow = &mut self.flows[index as usize];
                flow.listed = false;
                flow.codel.emptied();
                while let Some(packet) = self.slab.pop(&mut flow.line) {
                    gone(packet);
                }
            }
        }
        self.held = Held::default();
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.held.backlog.packets < u64::from(self.config.limit_packets)
            && self.held.memory_bytes + u64::from(packet.charge_bytes())
                <= self.config.memory_limit_bytes
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog
    }
}
