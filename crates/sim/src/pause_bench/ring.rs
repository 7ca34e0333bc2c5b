//! A ring in front of a wire whose completions become visible at interrupts.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

use taut_path::{Completions, InRing, Packet, TxRing};

const PS_PER_NS: u64 = 1_000;

/// The state of the device.
struct Device {
    slots: u32,
    ps_per_byte: u64,
    /// Packets in the ring, each with the time at which it leaves the wire, in ps.
    packets: VecDeque<(Packet, u64)>,
    bytes: u32,
    free_at_ps: u64,
    /// Packets that left until this time are visible to the completer.
    visible_ps: u64,
    idle_ps: u64,
}

/// A handle to the device, for either half of a queue and for the bench.
#[derive(Clone)]
pub(super) struct PauseRing(Rc<RefCell<Device>>);

impl PauseRing {
    pub(super) fn new(slots: u32, rate_bits_per_s: u64) -> Self {
        Self(Rc::new(RefCell::new(Device {
            slots,
            ps_per_byte: 8_000_000_000_000 / rate_bits_per_s.max(1),
            packets: VecDeque::new(),
            bytes: 0,
            free_at_ps: 0,
            visible_ps: 0,
            idle_ps: 0,
        })))
    }

    /// Reports all packets that left until `now_ns`, as an interrupt does.
    pub(super) fn interrupt(&self, now_ns: u64) {
        self.0.borrow_mut().visible_ps = now_ns * PS_PER_NS;
    }

    /// Returns the time at which the oldest packet of the ring leaves, in ns; `None` for an empty
    /// ring.
    pub(super) fn next_completion_ns(&self) -> Option<u64> {
        let device = self.0.borrow();
        let oldest = device.packets.front();
        oldest.map(|&(_, at_ps)| at_ps.div_ceil(PS_PER_NS))
    }

    /// Returns `true` if the oldest packet can be reaped.
    fn is_visible(&self) -> bool {
        let device = self.0.borrow();
        let oldest = device.packets.front();
        oldest.is_some_and(|it| it.1 <= device.visible_ps)
    }

    /// Returns the idle time of the wire from the start until `now_ns`, in ns.
    pub(super) fn idle_ns(&self, now_ns: u64) -> u64 {
        let device = self.0.borrow();
        let idle_ps = (now_ns * PS_PER_NS).saturating_sub(device.free_at_ps);
        (device.idle_ps + idle_ps) / PS_PER_NS
    }
}

impl TxRing for PauseRing {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.0.borrow().slots
    }

    fn slots_free(&self) -> u32 {
        let device = self.0.borrow();
        device.slots - device.packets.len() as u32
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let mut device = self.0.borrow_mut();
        let now_ps = now_ns * PS_PER_NS;
        device.idle_ps += now_ps.saturating_sub(device.free_at_ps);
        let bytes = packet.wire_bytes();
        device.free_at_ps = device.free_at_ps.max(now_ps) + u64::from(bytes) * device.ps_per_byte;
        device.bytes += bytes;
        let at_ps = device.free_at_ps;
        device.packets.push_back((packet, at_ps));
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
        for _ in 0..budget_packets {
            if !self.is_visible() {
                return Ok(false);
            }
            let mut device = self.0.borrow_mut();
            let Some((packet, _)) = device.packets.pop_front() else {
                return Ok(false);
            };
            device.bytes -= packet.wire_bytes();
            // The callback can use the ring.
            drop(device);
            freed(packet);
        }
        Ok(self.is_visible())
    }

    fn in_ring(&self) -> Option<InRing> {
        let device = self.0.borrow();
        Some(InRing {
            packets: device.packets.len() as u32,
            bytes: device.bytes,
        })
    }
}
