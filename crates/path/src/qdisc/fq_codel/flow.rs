//! One flow, and the lists in which flows wait for their turn.

use core::hint::black_box;
use core::mem;

use super::super::codel_state::CodelState;
use super::fattest::Fattest;
use super::packet_store::{NONE, PacketList, PacketStore};

/// A flow fills one cache line: whatever happens to it touches one.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct FlowSlot {
    pub packets: PacketList,
    pub codel: CodelState,
    /// Bytes that it may still send in this turn; negative after a packet that took more.
    pub credit_bytes: i64,
    /// The flow behind it in its list; [`NONE`] in no list.
    next: u32,
    /// Whether it is in a list: it has packets, or had some a moment ago.
    pub listed: bool,
    /// Whether its weight is noted as changed.
    pub noted: bool,
}

const _: () = assert!(size_of::<FlowSlot>() == 64);

impl Default for FlowSlot {
    fn default() -> Self {
        Self {
            packets: PacketList::default(),
            codel: CodelState::default(),
            credit_bytes: 0,
            next: NONE,
            listed: false,
            noted: false,
        }
    }
}

impl FlowSlot {
    /// Notes that the weight of this flow, the one at `index`, changes.
    #[inline]
    pub(crate) fn note(&mut self, index: u32, fattest: &mut Fattest) {
        if !self.noted {
            self.noted = true;
            fattest.note(index);
        }
    }
}

/// A list of flows, each linked to the next.
#[derive(Debug)]
pub(crate) struct FlowList {
    first: u32,
    /// Means nothing while `first` is [`NONE`].
    last: u32,
}

impl FlowList {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    /// The flow at the head, [`NONE`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Puts the flow at `index`, which is in no list, at the end.
    #[inline(always)]
    pub(crate) fn push(&mut self, flows: &mut [FlowSlot], index: u32) {
        if self.first == NONE {
            self.first = index;
        } else {
            flows[self.last as usize].next = index;
        }
        self.last = index;
    }

    /// Puts the first behind all others. Returns which is first then.
    #[inline(always)]
    pub(crate) fn rotate(&mut self, flows: &mut [FlowSlot]) -> u32 {
        let first = self.first;
        if let Some(flow) = flows.get_mut(first as usize)
            && flow.next != NONE
        {
            self.first = mem::replace(&mut flow.next, NONE);
            flows[self.last as usize].next = first;
            self.last = first;
        }
        self.first
    }

    /// Takes the first away, which is `flow`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, flow: &mut FlowSlot) {
        self.first = mem::replace(&mut flow.next, NONE);
    }
}

/// Brings into the cache what the turns after that of `flow` need: the packet of the flow behind it,
/// and the second flow. With many flows neither is there any more, and while this one is served both
/// can come.
#[inline(always)]
pub(crate) fn prefetch(flow: &FlowSlot, flows: &[FlowSlot], packets: &PacketStore) {
    if let Some(behind) = flows.get(flow.next as usize) {
        packets.prefetch(&behind.packets);
        if let Some(second) = flows.get(behind.next as usize) {
            black_box(second.next);
        }
    }
}
