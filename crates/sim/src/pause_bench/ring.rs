//! A ring in front of a wire whose completions become visible at interrupts.

use std::collections::VecDeque;
use std::convert::Infallible;

use taut_path::{Completions, Packet, TxRing};

const PS_PER_NS: u64 = 1_000;

/// A ring and its wire. Times are in ps, because a byte takes less than a ns on a fast link.
pub(super) struct PauseRing {
    slots: u32,
    ps_per_byte: u64,
    /// Packets in the ring, each with the time at which it leaves the wire, in ps.
    packets: VecDeque<(Packet, u64)>,
    free_at_ps: u64,
    /// Packets that left until this time are visible to the completer.
    visible_ps: u64,
    idle_ps: u64,
}

impl PauseRing {
    pub(super) fn new(slots: u32, rate_bits_per_s: u64) -> Self {
        Self {
            slots,
            ps_per_byte: 8_000_000_000_000 / rate_bits_per_s.max(1),
            packets: VecDeque::new(),
            free_at_ps: 0,
            visible_ps: 0,
            idle_ps: 0,
        }
    }

    /// Reports all packets that left until `now_ns`, as an interrupt does.
    pub(super) fn interrupt(&mut self, now_ns: u64) {
        self.visible_ps = now_ns * PS_PER_NS;
    }

    /// Returns the time at which the oldest packet of the ring leaves, in ns; `None` for an empty
    /// ring.
    pub(super) fn next_completion_ns(&self) -> Option<u64> {
        let oldest = self.packets.front();
        oldest.map(|&(_, at_ps)| at_ps.div_ceil(PS_PER_NS))
    }

    /// Returns the number of packets that can be reaped.
    fn visible(&self) -> usize {
        self.packets.partition_point(|it| it.1 <= self.visible_ps)
    }

    /// Returns the idle time of the wire from the start until `now_ns`, in ns.
    pub(super) fn idle_ns(&self, now_ns: u64) -> u64 {
        let idle_ps = (now_ns * PS_PER_NS).saturating_sub(self.free_at_ps);
        (self.idle_ps + idle_ps) / PS_PER_NS
    }
}

impl TxRing for PauseRing {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.slots - self.packets.len() as u32
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let now_ps = now_ns * PS_PER_NS;
        self.idle_ps += now_ps.saturating_sub(self.free_at_ps);
        let sending_ps = u64::from(packet.wire_bytes()) * self.ps_per_byte;
        self.free_at_ps = self.free_at_ps.max(now_ps) + sending_ps;
        self.packets.push_back((packet, self.free_at_ps));
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for PauseRing {
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
        let reaped = self.visible().min(budget_packets as usize);
        self.packets.drain(..reaped).for_each(|it| freed(it.0));
        Ok(self.visible() > 0)
    }
}
