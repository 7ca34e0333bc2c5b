//! The sending half of a transmit queue.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use taut_dql::sync::Ordering;

use super::{Drops, Shared, Stop, StopReason};
use crate::driver::TxRing;
use crate::limit::{Limit, LimitSender};
use crate::packet::{DropReason, Packet, PacketSink};
use crate::probe::Probe;
use crate::qdisc::{Backlog, Qdisc};

/// What the sending half did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounters {
    /// Packets offered to the discipline.
    pub enqueued_packets: u64,
    /// Packets accounted for and given to the device.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped, by reason.
    pub drops: Drops,
    /// Packets marked by the discipline.
    pub marked_packets: u64,
    /// Times the limit stopped the queue.
    pub limit_stops: u64,
    /// Times a full ring stopped the queue.
    pub ring_stops: u64,
    /// Doorbells rung.
    pub kicks: u64,
}

/// A packet that the discipline has no room for; nothing was dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom(pub Packet);

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no buffer space: the discipline is full")
    }
}

impl core::error::Error for NoRoom {}

/// The sending half: the discipline and the sender's half of the limit.
pub struct Sender<L: Limit> {
    discipline: Box<dyn Qdisc + Send>,
    pub(super) limit: L::Sender,
    pub(super) shared: Arc<Shared>,
    train_packets: u32,
    /// The device has not been told of everything in the ring: a doorbell failed.
    kick_owed: bool,
    counters: SenderCounters,
}

/// Why a train ended.
enum TrainEnd {
    Full,
    NoRoom,
    NoSlots,
    Empty,
}

impl<L: Limit> Sender<L> {
    pub(super) fn new(
        discipline: Box<dyn Qdisc + Send>,
        limit: L::Sender,
        shared: Arc<Shared>,
        train_packets: u32,
    ) -> Self {
        let counters = SenderCounters::default();
        Self {
            discipline,
            limit,
            shared,
            train_packets,
            kick_owed: false,
            counters,
        }
    }

    /// Hands `packet` to the discipline, which drops what it cannot hold.
    pub fn enqueue(
        &mut self,
        packet: Packet,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) {
        probe.on_enqueue(now_ns, &packet);
        self.counters.enqueued_packets += 1;
        let mut sink = CountedSink {
            sink,
            probe,
            now_ns,
            counters: &mut self.counters,
        };
        self.discipline.enqueue(packet, now_ns, &mut sink);
    }

    /// Hands `packet` to the discipline only if it can be kept.
    ///
    /// # Errors
    /// [`NoRoom`] gives the packet back; [`must_wait`](Self::must_wait) tells when to try again.
    pub fn offer(
        &mut self,
        packet: Packet,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) -> Result<(), NoRoom> {
        if !self.discipline.accepts(&packet) {
            return Err(NoRoom(packet));
        }
        self.enqueue(packet, now_ns, sink, probe);
        Ok(())
    }

    /// For a sender that found no room after [`run`](Self::run): asks for a wake-up through the
    /// waker of the queue. Returns false if the queue was started again meanwhile, so that there
    /// is no need to sleep.
    pub fn must_wait(&self) -> bool {
        self.shared.room.must_wait(|| self.shared.is_open())
    }

    /// Sends while the limit has room and the largest packet's slots are free.
    pub fn run<R: TxRing>(
        &mut self,
        ring: &mut R,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) -> Stop<R::Error> {
        let stop = self.run_until_stopped(ring, now_ns, sink, probe);
        self.limit.share_room();
        stop
    }

    fn run_until_stopped<R: TxRing>(
        &mut self,
        ring: &mut R,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) -> Stop<R::Error> {
        // First of all, also of a stop: what the device does not know of never completes.
        if self.kick_owed
            && let Err(error) = self.kick(ring, now_ns)
        {
            return Stop::Failed(error);
        }
        loop {
            if self.stopped_by_stack() {
                self.note_refused(now_ns);
                return Stop::Limit;
            }
            if self.stopped_by_driver() {
                return Stop::RingFull;
            }
            let end = match self.send_train(ring, now_ns, sink, probe) {
                Ok(end) => end,
                Err(error) => return Stop::Failed(error),
            };
            match end {
                TrainEnd::Full => {}
                TrainEnd::NoRoom => self.stop_stack(now_ns, probe),
                TrainEnd::NoSlots => self.stop_driver(ring, now_ns, probe),
                TrainEnd::Empty => {
                    return match self.discipline.next_ready(now_ns) {
                        Some(at_ns) => Stop::NotReady(at_ns),
                        None => Stop::Idle,
                    };
                }
            }
        }
    }

    /// Sends one train and rings the doorbell for it.
    fn send_train<R: TxRing>(
        &mut self,
        ring: &mut R,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) -> Result<TrainEnd, R::Error> {
        let mut submitted = 0;
        let end = loop {
            if !self.limit.has_room() {
                break TrainEnd::NoRoom;
            }
            if ring.slots_free() < ring.slots_of_largest() {
                break TrainEnd::NoSlots;
            }
            if submitted == self.train_packets {
                break TrainEnd::Full;
            }
            if !self.submit_next(ring, now_ns, sink, probe) {
                break TrainEnd::Empty;
            }
            submitted += 1;
        };
        if submitted > 0 {
            self.kick(ring, now_ns)?;
        }
        Ok(end)
    }

    fn kick<R: TxRing>(&mut self, ring: &mut R, now_ns: u64) -> Result<(), R::Error> {
        self.kick_owed = true;
        ring.kick(now_ns)?;
        self.kick_owed = false;
        self.counters.kicks += 1;
        Ok(())
    }

    /// Puts the next packet into the ring, if there is one. Accounts for it first: the device must
    /// not be able to complete it before. Straight into the ring, for each move is a copy.
    fn submit_next<R: TxRing>(
        &mut self,
        ring: &mut R,
        now_ns: u64,
        sink: &mut dyn PacketSink,
        probe: &mut impl Probe,
    ) -> bool {
        loop {
            let mut sink = CountedSink {
                sink: &mut *sink,
                probe: &mut *probe,
                now_ns,
                counters: &mut self.counters,
            };
            let Some(mut packet) = self.discipline.dequeue(now_ns, &mut sink) else {
                return false;
            };
            sink.probe.on_dequeue(now_ns, &packet);
            if self.limit.in_flight() == 0 {
                self.shared.burst_start_ns.store(now_ns, Ordering::Relaxed);
            }
            if self.limit.queued(packet.wire_bytes, now_ns).is_err() {
                sink.dropped(packet, DropReason::Uncountable);
                continue;
            }
            packet.epoch = self.limit.epoch();
            packet.was_charged = packet.charge.is_some();
            self.counters.sent_packets += 1;
            self.counters.sent_bytes += u64::from(packet.wire_bytes);
            probe.on_sent(now_ns, &packet);
            ring.submit(packet, now_ns);
            return true;
        }
    }

    fn stop_stack(&mut self, now_ns: u64, probe: &mut impl Probe) {
        let limit = &self.limit;
        if self.shared.stack.close_unless(|| limit.has_room()) {
            self.counters.limit_stops += 1;
            probe.on_stopped(now_ns, StopReason::Limit);
        }
    }

    fn stop_driver<R: TxRing>(&mut self, ring: &R, now_ns: u64, probe: &mut impl Probe) {
        if self
            .shared
            .driver
            .close_unless(|| ring.slots_free() >= ring.slots_of_largest())
        {
            self.counters.ring_stops += 1;
            probe.on_stopped(now_ns, StopReason::RingFull);
        }
    }

    fn note_refused(&mut self, now_ns: u64) {
        let waits =
            self.discipline.backlog().packets > 0 && self.discipline.next_ready(now_ns).is_none();
        // The reaper may have made room since it was found missing.
        if waits && !self.limit.has_room() {
            self.limit.refused();
        }
    }

    /// Drops everything that waits, for a queue that is taken down.
    pub fn flush(&mut self, now_ns: u64, sink: &mut dyn PacketSink, probe: &mut impl Probe) {
        let mut sink = CountedSink {
            sink,
            probe,
            now_ns,
            counters: &mut self.counters,
        };
        while let Some(packet) = self.discipline.dequeue(now_ns, &mut sink) {
            sink.dropped(packet, DropReason::Flushed);
        }
    }

    /// Whether the limit stopped the queue. The reaper may clear it at any time.
    pub fn stopped_by_stack(&self) -> bool {
        self.shared.stack.is_closed()
    }

    /// Whether a full ring stopped the queue. The reaper may clear it at any time.
    pub fn stopped_by_driver(&self) -> bool {
        self.shared.driver.is_closed()
    }

    /// What waits in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    /// Units in flight, as the limit counts them. The reaper may lower it at any time.
    pub fn in_flight(&self) -> u32 {
        self.limit.in_flight()
    }

    /// What this half did so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }
}

/// Counts drops and marks on their way to the caller's sink.
struct CountedSink<'a, P> {
    sink: &'a mut dyn PacketSink,
    probe: &'a mut P,
    now_ns: u64,
    counters: &'a mut SenderCounters,
}

impl<P: Probe> PacketSink for CountedSink<'_, P> {
    fn freed(&mut self, packet: Packet) {
        self.sink.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.counters.drops.count(reason);
        self.probe.on_drop(self.now_ns, &packet, reason);
        self.sink.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &Packet) {
        self.counters.marked_packets += 1;
        self.probe.on_mark(self.now_ns, packet);
        self.sink.marked(packet);
    }
}
