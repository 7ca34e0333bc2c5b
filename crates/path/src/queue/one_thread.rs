//! Both halves of a queue and its device, on one thread.

use alloc::boxed::Box;

use taut_dql::Snapshot;

use super::{
    CompleteError, Completed, NoRoom, QueueConfig, QueueConfigError, Reaper, Sender, Stop, split,
};
use crate::driver::{Completions, TxRing};
use crate::limit::Limit;
use crate::packet::{Packet, PacketSink};
use crate::probe::Probe;
use crate::qdisc::Qdisc;

/// A transmit queue whose two halves, driver and probe live on one thread.
pub struct TxQueue<L: Limit, D, P = ()> {
    sender: Sender<L>,
    reaper: Reaper<L>,
    driver: D,
    probe: P,
}

impl<L: Limit, D: TxRing + Completions, P: Probe> TxQueue<L, D, P> {
    /// A queue in front of `driver`, watched by `probe`.
    ///
    /// # Errors
    /// As [`split`], and if the ring is smaller than the driver's largest packet.
    pub fn new(
        discipline: Box<dyn Qdisc + Send>,
        limit: L,
        driver: D,
        probe: P,
        config: QueueConfig,
        now_ns: u64,
    ) -> Result<Self, QueueConfigError> {
        let slots_of_largest = driver.slots_of_largest();
        if slots_of_largest > config.slots {
            return Err(QueueConfigError::LargestAboveRing {
                slots_of_largest,
                slots: config.slots,
            });
        }
        let (sender, reaper) = split(discipline, limit, config, now_ns)?;
        Ok(Self::of(sender, reaper, driver, probe))
    }

    /// The two halves of one queue together, in front of `driver`, whose ring must hold its largest
    /// packet.
    pub fn of(sender: Sender<L>, reaper: Reaper<L>, driver: D, probe: P) -> Self {
        Self {
            sender,
            reaper,
            driver,
            probe,
        }
    }

    /// Hands `packet` to the discipline, which drops what it cannot hold. Follow with
    /// [`run`](Self::run), once for a batch.
    pub fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.sender.enqueue(packet, now_ns, sink, &mut self.probe);
    }

    /// Hands `packet` to the discipline only if it can be kept.
    ///
    /// # Errors
    /// [`NoRoom`] gives the packet back.
    pub fn offer(
        &mut self,
        packet: Packet,
        now_ns: u64,
        sink: &mut dyn PacketSink,
    ) -> Result<(), NoRoom> {
        self.sender.offer(packet, now_ns, sink, &mut self.probe)
    }

    /// Sends while the limit has room and the largest packet's slots are free.
    pub fn run(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Stop<<D as TxRing>::Error> {
        self.sender
            .run(&mut self.driver, now_ns, sink, &mut self.probe)
    }

    /// Takes what the device finished. Follow with [`run`](Self::run) if it says `schedule`.
    ///
    /// # Errors
    /// As [`Reaper::complete`].
    pub fn complete(
        &mut self,
        now_ns: u64,
        sink: &mut dyn PacketSink,
    ) -> Result<Completed, CompleteError<<D as Completions>::Error>> {
        self.reaper
            .complete(&mut self.driver, now_ns, sink, &mut self.probe)
    }

    /// Forgets everything in flight and starts again; see [`super::reset`].
    pub fn reset(&mut self, now_ns: u64) {
        // Both halves were made together in `new`, the only error there is.
        let same_queue = super::reset(&mut self.sender, &mut self.reaper, now_ns);
        debug_assert!(same_queue.is_ok());
        self.probe.on_reset(now_ns);
    }

    /// Drops everything that waits in the discipline.
    pub fn flush(&mut self, now_ns: u64, sink: &mut dyn PacketSink) {
        self.sender.flush(now_ns, sink, &mut self.probe);
    }

    /// When to call [`complete`](Self::complete) even if the device says nothing, in ns.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.reaper.next_wakeup()
    }

    /// The limit and its counters, in the limit's units.
    pub fn snapshot(&self) -> Snapshot {
        self.reaper.snapshot()
    }

    /// The sending half.
    pub fn sender(&self) -> &Sender<L> {
        &self.sender
    }

    /// The completing half.
    pub fn reaper(&self) -> &Reaper<L> {
        &self.reaper
    }

    /// The completing half, to set its knobs.
    pub fn reaper_mut(&mut self) -> &mut Reaper<L> {
        &mut self.reaper
    }

    /// The device.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// The device.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// The probe.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }
}
