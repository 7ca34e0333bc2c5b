//! A device that finishes bytes at a fixed rate, and tells of it when it is asked.

use std::collections::VecDeque;
use std::convert::Infallible;

use taut_path::{Completions, Packet, TxRing};

use crate::nic::link_ns;

/// A ring of so many slots over a link.
pub(super) struct Device {
    rate_bits_per_s: u64,
    slots: u32,
    /// What is not reaped, and when the link has sent it.
    ring: VecDeque<(Packet, u64)>,
    /// When the link has sent all of it.
    busy_until_ns: u64,
    /// Bytes that the link has got, and the time that it had nothing while packets waited above.
    pub(super) sent_bytes: u64,
    pub(super) dry_ns: u64,
    /// When the oldest packet that waits above came.
    pub(super) waiting_since_ns: Option<u64>,
}

impl Device {
    pub(super) fn new(rate_bits_per_s: u64, slots: u32) -> Self {
        Self {
            rate_bits_per_s,
            slots,
            ring: VecDeque::new(),
            busy_until_ns: 0,
            sent_bytes: 0,
            dry_ns: 0,
            waiting_since_ns: None,
        }
    }

    /// When the oldest packet in the ring was or will be sent.
    pub(super) fn oldest_ns(&self) -> Option<u64> {
        self.ring.front().map(|&(_, sent_ns)| sent_ns)
    }

    fn free(&self) -> u32 {
        self.slots
            .saturating_sub(u32::try_from(self.ring.len()).unwrap_or(u32::MAX))
    }
}

impl TxRing for Device {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.slots
    }

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        if self.free() == 0 {
            return Err(packet);
        }
        if let Some(since_ns) = self.waiting_since_ns {
            let idle_ns = self.busy_until_ns.max(since_ns);
            self.dry_ns += now_ns.saturating_sub(idle_ns);
        }
        let bytes = u64::from(packet.wire_bytes());
        let ns = link_ns(bytes, self.rate_bits_per_s);
        self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(ns);
        self.sent_bytes += bytes;
        self.ring.push_back((packet, self.busy_until_ns));
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Device {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        for _ in 0..budget_packets {
            if self.oldest_ns().is_none_or(|sent_ns| sent_ns > now_ns) {
                return Ok(false);
            }
            if let Some((packet, _)) = self.ring.pop_front() {
                freed(packet);
            }
        }
        Ok(self.oldest_ns().is_some_and(|sent_ns| sent_ns <= now_ns))
    }
}
