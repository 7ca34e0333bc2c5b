//! The data of a flow's turn: its packets, their store, and the sums over all flows.

use super::super::codel_state::Waiting;
use super::flow::FlowSlot;
use super::packet_store::{PacketList, PacketStore};
use crate::packet::Packet;

/// The sums over all flows.
#[derive(Debug, Default)]
// The order matters: adjacent sums of bytes would be added as a vector, which takes more
// instructions here.
#[repr(C)]
pub(crate) struct Held {
    pub bytes: u64,
    pub packets: u32,
    pub memory_bytes: u64,
}

impl Held {
    #[inline]
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes());
        self.memory_bytes += u64::from(packet.memory_bytes());
    }

    #[inline]
    pub(crate) fn remove(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.wire_bytes());
        self.memory_bytes -= u64::from(packet.memory_bytes());
    }
}

/// The packets of one flow.
pub(crate) struct FlowQueue<'a> {
    pub list: &'a mut PacketList,
    pub store: &'a mut PacketStore,
    pub held: &'a mut Held,
}

impl Waiting for FlowQueue<'_> {
    #[inline]
    fn oldest(&mut self) -> Option<(&mut Packet, u64)> {
        self.store.oldest(self.list)
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let held = &mut *self.held;
        self.store.pop(self.list, |packet| held.remove(packet))
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.list.bytes()
    }
}

/// Removes the oldest packet of a flow that sends.
#[inline(always)]
pub(crate) fn send(
    flow: &mut FlowSlot,
    store: &mut PacketStore,
    held: &mut Held,
) -> Option<Packet> {
    store.pop(&mut flow.packets, |packet| {
        flow.credit_bytes -= i64::from(packet.wire_bytes());
        held.remove(packet);
    })
}
