//! A device that a test stalls, takes down or removes.

use alloc::collections::{BTreeMap, VecDeque};

use super::FaultError;
use crate::driver::{ChunkSupport, Completions, InRing, TxRing};
use crate::packet::{Frame, Packet};

/// The state of a device, in addition to its own behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum DeviceState {
    /// Works normally.
    #[default]
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

/// Wraps both halves of a driver and puts it through a sequence of [`DeviceState`]s.
///
/// The driver receives stand-ins for the packets, with the same sizes and with numbers as frames.
/// So it must not read the bytes; that of a simulated NIC does not.
///
/// ```
/// use taut_path::driver::testing::{DeviceState, Outages, mock};
/// use taut_path::pool::FramePool;
/// use taut_path::{AnyLimit, Queue, Stop};
///
/// let (tx, completions, device) = mock::ring(8);
/// let mut pool = FramePool::new(4, 64);
/// let device_of = Outages::new((tx, completions));
/// let mut queue = Queue::builder_for(device_of).limit(AnyLimit::off()).build(0)?;
/// for _ in 0..2 {
///     queue.enqueue(pool.packet(b"hello")?, 0, &mut pool);
/// }
/// let _ = queue.run(0, &mut pool);
/// device.complete(1);
///
/// queue.device_mut().set_state(DeviceState::LinkDown, 1_000)?;
/// assert_eq!(queue.complete(1_000, &mut pool)?.counts.packets, 2); // one of them was purged
/// assert_eq!(queue.device().counts().purged, 1);
/// queue.enqueue(pool.packet(b"hello")?, 2_000, &mut pool);
/// assert!(matches!(queue.run(2_000, &mut pool), Stop::Failed(_)));
///
/// queue.device_mut().set_state(DeviceState::Normal, 3_000)?;
/// let _ = queue.run(3_000, &mut pool);
/// assert_eq!(device.sent().len(), 2, "the driver continues with its packets, too");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
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

impl<D> Outages<D> {
    /// Wraps a driver in the normal state.
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

    /// Returns the driver.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Returns the driver, for calls outside of the queue.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    /// Returns the state of the device.
    pub fn state(&self) -> DeviceState {
        self.state
    }

    /// Returns the effects so far.
    pub fn counts(&self) -> OutageCounts {
        self.counts
    }

    /// Empties the ring without completions, as a driver does before its queue is reset. Pass each
    /// packet to the sink.
    pub fn flush(&mut self) -> impl Iterator<Item = Packet> + use<D> {
        let inside = core::mem::take(&mut self.inside).into_values();
        let ended = core::mem::take(&mut self.ended);
        ended
            .into_iter()
            .chain(inside)
            .chain(core::mem::take(&mut self.waiting))
    }

    fn is_down(&self) -> bool {
        matches!(self.state, DeviceState::LinkDown | DeviceState::Removed)
    }
}

impl<D: Completions> Outages<D> {
    /// Sets the state of the device at `now_ns`.
    ///
    /// # Errors
    /// Those of the driver's reap, because packets that it completed before are reaped first.
    pub fn set_state(&mut self, state: DeviceState, now_ns: u64) -> Result<(), D::Error> {
        let was_down = self.is_down();
        self.state = state;
        if !self.is_down() || was_down {
            return Ok(());
        }
        let (inside, ended, counts) = (&mut self.inside, &mut self.ended, &mut self.counts);
        let mut finished = |stand_in: Packet| {
            if let Some(packet) = inside.remove(&stand_in.frame().index()) {
                counts.finished += 1;
                ended.push_back(packet);
            }
        };
        let mut result = Ok(true);
        while matches!(result, Ok(true)) {
            result = self.driver.reap(now_ns, u32::MAX, &mut finished);
        }
        let inside = core::mem::take(&mut self.inside);
        self.counts.purged += inside.len() as u64;
        self.ended.extend(inside.into_values());
        result.map(drop)
    }
}

impl<D: TxRing> Outages<D> {
    /// Passes a stand-in to the driver.
    fn pass_on(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let number = self.next_number;
        let mut stand_in = Packet::new(Frame::new(number), packet.wire_bytes());
        stand_in.segmentation = packet.segmentation;
        stand_in.priority = packet.priority;
        stand_in.flow = packet.flow;
        stand_in.set_ecn(packet.ecn());
        if self.driver.submit(stand_in, now_ns).is_err() {
            return Err(packet);
        }
        self.next_number = number.wrapping_add(1);
        self.inside.insert(number, packet);
        Ok(())
    }
}

impl<D: TxRing> TxRing for Outages<D> {
    type Error = FaultError<D::Error>;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        let waiting = self.waiting.len() as u32 * self.driver.slots_of_largest();
        self.driver.slots_free().saturating_sub(waiting)
    }

    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    fn chunk_support(&self) -> ChunkSupport {
        self.driver.chunk_support()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        if self.is_down() || !self.waiting.is_empty() {
            self.waiting.push_back(packet);
            return Ok(());
        }
        self.pass_on(packet, now_ns)
    }

    /// # Errors
    /// [`FaultError::Planned`] while the link is down or the device removed.
    fn kick(&mut self, now_ns: u64) -> Result<(), Self::Error> {
        if self.is_down() {
            return Err(FaultError::Planned("kick"));
        }
        while self.driver.slots_free() >= self.driver.slots_of_largest() {
            let Some(packet) = self.waiting.pop_front() else {
                break;
            };
            if let Err(packet) = self.pass_on(packet, now_ns) {
                // The driver reported room but rejects the packet: treat it as purged.
                self.counts.purged += 1;
                self.ended.push_back(packet);
            }
        }
        self.driver.kick(now_ns).map_err(FaultError::Driver)
    }
}

impl<D: TxRing + Completions> Completions for Outages<D> {
    type Error = FaultError<<D as Completions>::Error>;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    /// # Errors
    /// [`FaultError::Planned`] while the device is removed, after the purged packets were returned.
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error> {
        let mut left = budget_packets;
        while left > 0
            && let Some(packet) = self.ended.pop_front()
        {
            freed(packet);
            left -= 1;
        }
        if self.state == DeviceState::Removed {
            return Err(FaultError::Planned("reap"));
        }
        if self.state == DeviceState::Stalled {
            return Ok(!self.ended.is_empty());
        }
        let (inside, counts) = (&mut self.inside, &mut self.counts);
        let more = self.driver.reap(now_ns, left, &mut |stand_in| {
            // A packet that was purged in the meantime is already reported.
            if let Some(packet) = inside.remove(&stand_in.frame().index()) {
                counts.finished += 1;
                freed(packet);
            }
        });
        Ok(more.map_err(FaultError::Driver)? || !self.ended.is_empty())
    }

    fn in_ring(&self) -> Option<InRing> {
        let lists = self.waiting.iter().chain(&self.ended);
        let mut ring = InRing::default();
        for packet in lists.chain(self.inside.values()) {
            ring.packets = ring.packets.wrapping_add(1);
            ring.bytes = ring.bytes.wrapping_add(packet.wire_bytes());
        }
        Some(ring)
    }

    fn completions_valid(&self) -> bool {
        self.driver.completions_valid()
    }
}
