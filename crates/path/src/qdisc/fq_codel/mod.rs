//! Flow queueing with CoDel on each queue (RFC 8290).

mod config;
mod flow;
mod longest;
mod packet_store;
mod turn;

use alloc::vec::Vec;

use super::bounded_ring::capacity;
use super::codel_state::{CodelRule, Waiting};
use super::seam::{Backlog, Qdisc, RequeueSupport};
use crate::packet::{DropReason, Packet, PacketSink};
use flow::{FlowList, FlowSlot, prefetch};
use longest::LongestFlow;
use packet_store::{NONE, PacketStore};
use turn::{FlowQueue, Held, send};

pub use config::FqCodelConfig;
pub(super) use config::MAX_FLOWS;

/// Maximum number of packets dropped at once from the longest flow, because the search for it is
/// expensive.
const MAX_BULK_DROP_PACKETS: u32 = 64;

/// `fq_codel`: serves flows round-robin, new flows first.
#[derive(Debug)]
pub struct FqCodel {
    flows: Vec<FlowSlot>,
    /// Flows that began to send and have not used their first quantum.
    new: FlowList,
    old: FlowList,
    store: PacketStore,
    held: Held,
    longest: LongestFlow,
    codel: CodelRule,
    config: FqCodelConfig,
}

impl FqCodel {
    /// Queues with the settings of `config`. Allocates for all packets and flows here, and never
    /// again.
    pub fn new(config: FqCodelConfig) -> Self {
        let flows = config.flows.clamp(1, MAX_FLOWS) as usize;
        Self {
            flows: (0..flows).map(|_| FlowSlot::default()).collect(),
            new: FlowList::EMPTY,
            old: FlowList::EMPTY,
            // One more: a packet is stored before room is made for it.
            store: PacketStore::new(capacity(config.limit_packets) + 1),
            held: Held::default(),
            longest: LongestFlow::new(flows),
            codel: CodelRule::new(config.codel),
            config: FqCodelConfig {
                limit_packets: capacity(config.limit_packets) as u32,
                quantum_bytes: config.quantum_bytes.max(1),
                ..config
            },
        }
    }

    /// Returns the queue of a flow: its hash mixed with the seed, so that flows that collide with
    /// one seed do not with another.
    pub fn queue_of(&self, flow: u32) -> u32 {
        // The finalizer of MurmurHash3: each bit of the input changes each bit of the output.
        let mut hash = flow ^ self.config.seed;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * self.flows.len() as u64) >> 32) as u32
    }

    /// Returns the reason for a drop, if a limit is exceeded.
    #[inline]
    fn excess(&self) -> Option<DropReason> {
        if self.held.packets > self.config.limit_packets {
            Some(DropReason::QueueFull)
        } else if self.held.memory_bytes > self.config.memory_limit_bytes {
            Some(DropReason::MemoryFull)
        } else {
            None
        }
    }

    /// Drops from the head of the longest flow, until half of it or [`MAX_BULK_DROP_PACKETS`] are
    /// dropped.
    #[inline(never)]
    fn drop_from_longest(&mut self, reason: DropReason, sink: &mut dyn PacketSink) {
        let flows = &mut self.flows;
        let index = self.longest.find(|index| {
            let flow = &mut flows[index as usize];
            flow.noted = false;
            flow.packets.bytes()
        });
        let flow = &mut self.flows[index as usize];
        flow.note(index, &mut self.longest);
        let keep_bytes = flow.packets.bytes() / 2;
        let mut queue = FlowQueue {
            list: &mut flow.packets,
            store: &mut self.store,
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
            flow.codel.forget();
        }
    }

    /// The slow path of enqueue: the flow begins to send, a slot is used for the first time, or
    /// packets must be dropped.
    #[inline(never)]
    fn put_and_make_room(
        &mut self,
        index: u32,
        packet: Packet,
        now_ns: u64,
        sink: &mut dyn PacketSink,
    ) {
        let flow = &mut self.flows[index as usize];
        flow.note(index, &mut self.longest);
        self.held.add(&packet);
        self.store.push(&mut flow.packets, packet, now_ns);
        if !flow.listed {
            flow.listed = true;
            flow.credit_bytes = self.config.quantum_bytes.into();
            self.new.push(&mut self.flows, index);
        }
        while let Some(reason) = self.excess() {
            self.drop_from_longest(reason, sink);
        }
    }

    /// Returns the flow at the head, and `true` if it is new.
    #[inline(always)]
    fn first(&self) -> (u32, bool) {
        match self.new.first() {
            NONE => (self.old.first(), false),
            index => (index, true),
        }
    }

    /// Sends a packet on the fast path: at most one turn ends before it, and it has not waited for
    /// long.
    #[inline(always)]
    fn send_plain(&mut self, now_ns: u64) -> Option<Packet> {
        let (mut index, is_new) = self.first();
        if self.flows.get(index as usize)?.credit_bytes <= 0 {
            if is_new {
                return None;
            }
            self.flows[index as usize].credit_bytes += i64::from(self.config.quantum_bytes);
            index = self.old.rotate(&mut self.flows);
            prefetch(self.flows.get(index as usize)?, &self.flows, &self.store);
            if self.flows[index as usize].credit_bytes <= 0 {
                return None;
            }
        }
        let flow = self.flows.get_mut(index as usize)?;
        let since_ns = self.store.oldest_since_ns(&flow.packets)?;
        if !flow.noted || !self.codel.is_short(since_ns, now_ns) {
            return None;
        }
        flow.codel.forget();
        send(flow, &mut self.store, &mut self.held)
    }

    /// Sends a packet after the pending decisions.
    fn send_next(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        loop {
            let (index, is_new) = self.first();
            let flow = self.flows.get_mut(index as usize)?;
            if flow.credit_bytes <= 0 {
                flow.credit_bytes += i64::from(self.config.quantum_bytes);
                self.end_turn(index, is_new);
                continue;
            }
            flow.note(index, &mut self.longest);
            let mut queue = FlowQueue {
                list: &mut flow.packets,
                store: &mut self.store,
                held: &mut self.held,
            };
            // CoDel decided about a remainder with its first chunk.
            let is_remainder = matches!(queue.oldest(), Some((packet, _)) if packet.is_remainder());
            if !is_remainder {
                flow.codel.judge(&self.codel, now_ns, &mut queue, sink);
            }
            if !flow.packets.is_empty() {
                return send(flow, &mut self.store, &mut self.held);
            }
            self.end_empty_turn(index, is_new);
        }
    }

    /// Ends the turn of the flow at `index`, the first of its list.
    #[inline(always)]
    fn end_turn(&mut self, index: u32, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop(&mut self.flows[index as usize]);
        self.old.push(&mut self.flows, index);
    }

    /// Ends the turn of the flow at `index`, the first of its list, which has no packet.
    #[inline(never)]
    fn end_empty_turn(&mut self, index: u32, is_new: bool) {
        if is_new {
            // Keep it in a list: a flow that returns immediately would count as new again and
            // starve others.
            self.end_turn(index, is_new);
        } else {
            let flow = &mut self.flows[index as usize];
            flow.listed = false;
            self.old.pop(flow);
        }
    }
}

impl Qdisc for FqCodel {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        let index = self.queue_of(packet.flow);
        let has_room = self.store.has_free_slot() && self.accepts(&packet);
        match self.flows.get_mut(index as usize) {
            Some(flow) if has_room && flow.noted && flow.listed => {
                self.held.add(&packet);
                self.store.push(&mut flow.packets, packet, now_ns);
            }
            _ => self.put_and_make_room(index, packet, now_ns, sink),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        match self.send_plain(now_ns) {
            Some(packet) => Some(packet),
            None => self.send_next(now_ns, sink),
        }
    }

    fn requeue_support(&self) -> RequeueSupport {
        RequeueSupport::InTurn
    }

    fn requeue(
        &mut self,
        remainder: Packet,
        unsent_bytes: u32,
        _now_ns: u64,
    ) -> Result<(), Packet> {
        let index = self.queue_of(remainder.flow);
        let flow = &mut self.flows[index as usize];
        flow.note(index, &mut self.longest);
        flow.credit_bytes += i64::from(unsent_bytes);
        self.held.add(&remainder);
        self.store.put_back(&mut flow.packets, remainder);
        Ok(())
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        let held = &mut self.held;
        for list in [&mut self.new, &mut self.old] {
            while list.first() != NONE {
                let index = list.first();
                let flow = &mut self.flows[index as usize];
                flow.note(index, &mut self.longest);
                // Counted before the call, and still listed, because the sink might panic.
                while let Some(packet) = self
                    .store
                    .pop(&mut flow.packets, |packet| held.remove(packet))
                {
                    on_packet(packet);
                }
                list.pop(flow);
                flow.listed = false;
                flow.codel.forget();
            }
        }
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.held.packets < self.config.limit_packets
            && self.held.memory_bytes + u64::from(packet.memory_bytes())
                <= self.config.memory_limit_bytes
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.held.packets.into(),
            bytes: self.held.bytes,
        }
    }

    fn max_packets(&self) -> Option<u32> {
        Some(self.config.limit_packets)
    }
}
