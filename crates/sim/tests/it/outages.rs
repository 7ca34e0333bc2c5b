//! A device that a test stalls, takes down or removes.

use std::collections::{BTreeMap, VecDeque};

use taut_path::{Completions, Frame, InRing, Packet, TxRing};

/// The state of a device, in addition to its own behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    /// Works normally.
    Normal,
    /// Accepts packets and completes none.
    Stalled,
    /// The link is down: the doorbell fails. Packets in the device are purged and reported
    /// complete, as the kernel does. Packets submitted later wait until the link is up.
    LinkDown,
    /// As [`LinkDown`](Self::LinkDown); reaps fail too.
    Removed,
}

/// Effects of outages so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutageCounts {
    /// Packets that were purged and reported complete.
    pub purged: u64,
    /// Packets that the device completed normally.
    pub finished: u64,
}

/// A call failed, because the link is down or the device is removed.
#[derive(Debug)]
pub struct Outage;

/// Wraps both halves of a driver and puts it through a sequence of [`DeviceState`]s.
///
/// The driver receives stand-ins for the packets, with the same sizes and with numbers as frames.
pub struct Outages<D> {
    driver: D,
    state: DeviceState,
    /// Submitted while the device was down.
    waiting: VecDeque<Packet>,
    /// The packet of each stand-in in the driver.
    inside: BTreeMap<u32, Packet>,
    /// Completed before the link went down, or purged, and not yet reaped.
    ended: VecDeque<Packet>,
    next_number: u32,
    counts: OutageCounts,
}

impl<D: TxRing + Completions> Outages<D> {
    pub fn new(driver: D) -> Self {
        Self {
            driver,
            state: DeviceState::Normal,
            waiting: VecDeque::new(),
            inside: BTreeMap::new(),
            ended: VecDeque::new(),
            next_number: 0,
            counts: OutageCounts::default(),
        }
    }

    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    pub fn counts(&self) -> OutageCounts {
        self.counts
    }

    /// Empties the ring without completions, as a driver does before its queue is reset.
    pub fn flush(&mut self) -> Vec<Packet> {
        let ended = std::mem::take(&mut self.ended).into_iter();
        let inside = std::mem::take(&mut self.inside).into_values();
        let waiting = std::mem::take(&mut self.waiting);
        ended.chain(inside).chain(waiting).collect()
    }

    fn is_down(&self) -> bool {
        matches!(self.state, DeviceState::LinkDown | DeviceState::Removed)
    }

    /// Sets the state of the device. Packets that the driver completed before are reaped first.
    pub fn set_state(&mut self, state: DeviceState, now_ns: u64) {
        let was_down = self.is_down();
        self.state = state;
        if !self.is_down() || was_down {
            return;
        }
        let mut finished = Vec::new();
        let mut freed = |packet| finished.push(packet);
        while matches!(self.reap_driver(now_ns, u32::MAX, &mut freed), Ok(true)) {}
        self.ended.extend(finished);
        let inside = std::mem::take(&mut self.inside);
        self.counts.purged += inside.len() as u64;
        self.ended.extend(inside.into_values());
    }

    /// Returns the packets of reaped stand-ins. That of a purged packet is already reported.
    fn reap_driver(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Outage> {
        let (inside, counts) = (&mut self.inside, &mut self.counts);
        let reaped = self.driver.reap(now_ns, budget_packets, &mut |stand_in| {
            if let Some(packet) = inside.remove(&stand_in.frame().index()) {
                counts.finished += 1;
                freed(packet);
            }
        });
        reaped.map_err(|_| Outage)
    }

    /// Passes a stand-in to the driver.
    fn pass_on(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let number = self.next_number;
        let stand_in = Packet::new(Frame::new(number), packet.wire_bytes());
        if self.driver.submit(stand_in, now_ns).is_err() {
            return Err(packet);
        }
        self.next_number += 1;
        self.inside.insert(number, packet);
        Ok(())
    }
}

impl<D: TxRing + Completions> TxRing for Outages<D> {
    type Error = Outage;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        let waiting = self.waiting.len() as u32 * self.driver.slots_of_largest();
        TxRing::slots_free(&self.driver).saturating_sub(waiting)
    }

    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        if self.is_down() || !self.waiting.is_empty() {
            self.waiting.push_back(packet);
            return Ok(());
        }
        self.pass_on(packet, now_ns)
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), Outage> {
        if self.is_down() {
            return Err(Outage);
        }
        while TxRing::slots_free(&self.driver) >= self.driver.slots_of_largest() {
            let Some(packet) = self.waiting.pop_front() else {
                break;
            };
            if let Err(packet) = self.pass_on(packet, now_ns) {
                // The driver reported room but rejects the packet: treat it as purged.
                self.counts.purged += 1;
                self.ended.push_back(packet);
            }
        }
        self.driver.kick(now_ns).map_err(|_| Outage)
    }
}

impl<D: TxRing + Completions> Completions for Outages<D> {
    type Error = Outage;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Outage> {
        let mut left = budget_packets;
        while left > 0
            && let Some(packet) = self.ended.pop_front()
        {
            freed(packet);
            left -= 1;
        }
        match self.state {
            DeviceState::Removed => Err(Outage),
            DeviceState::Stalled => Ok(!self.ended.is_empty()),
            DeviceState::Normal | DeviceState::LinkDown => {
                let more = self.reap_driver(now_ns, left, freed)?;
                Ok(more || !self.ended.is_empty())
            }
        }
    }

    fn in_ring(&self) -> Option<InRing> {
        let lists = self.waiting.iter().chain(&self.ended);
        let mut ring = InRing::default();
        for packet in lists.chain(self.inside.values()) {
            ring.packets += 1;
            ring.bytes += packet.wire_bytes();
        }
        Some(ring)
    }
}
