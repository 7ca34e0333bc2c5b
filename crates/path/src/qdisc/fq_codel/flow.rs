//! A flow, and the lists of flows.

use core::hint::black_box;
use core::mem;

use super::super::codel_state::CodelState;
use super::longest::LongestFlow;
use super::packet_store::{NONE, PacketList, PacketStore};

/// A flow fills one cache line, so that every operation touches only one.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct FlowSlot {
    pub packets: PacketList,
    pub codel: CodelState,
    /// Remaining bytes of this turn; negative after a packet that exceeded it.
    pub credit_bytes: i64,
    /// The next flow in its list; [`NONE`] at the end, or in no list.
    next: u32,
    /// `true` in a list: it has packets, or had some recently.
    pub listed: bool,
    /// `true` if its weight is recorded as changed.
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
    /// Records that the weight of this flow, the one at `index`, changes.
    #[inline]
    pub(crate) fn note(&mut self, index: u32, longest: &mut LongestFlow) {
        if !self.noted {
            self.noted = true;
            longest.note(index);
        }
    }
}

/// A list of flows, each linked to the next.
#[derive(Debug)]
pub(crate) struct FlowList {
    first: u32,
    /// Undefined while `first` is [`NONE`].
    last: u32,
}

impl FlowList {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    /// Returns the flow at the head, [`NONE`] if there is none.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// Appends the flow at `index`, which is in no list.
    #[inline(always)]
    pub(crate) fn push(&mut self, flows: &mut [FlowSlot], index: u32) {
        if self.first == NONE {
            self.first = index;
        } else {
            flows[self.last as usize].next = index;
        }
        self.last = index;
    }

    /// Moves the first flow to the end. Returns the new first flow.
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

    /// Removes the first flow, which is `flow`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, flow: &mut FlowSlot) {
        self.first = mem::replace(&mut flow.next, NONE);
    }
}

/// Prefetches the data of the next turns: the packet of the flow after `flow`, and the flow after
/// that. With many flows neither is in the cache, and both can load while this flow is served.
#[inline(always)]
pub(crate) fn prefetch(flow: &FlowSlot, flows: &[FlowSlot], packets: &PacketStore) {
    if let Some(behind) = flows.get(flow.next as usize) {
        packets.prefetch(&behind.packets);
        if let Some(second) = flows.get(behind.next as usize) {
            black_box(second.next);
        }
    }
}
