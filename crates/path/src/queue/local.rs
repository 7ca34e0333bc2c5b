//! A queue whose halves and device are on one thread.

use taut_dql::{Config, Stall};

use super::complete::CompleteHalf;
use super::context::Context;
use super::counters::{CompleterCounters, SenderCounters};
use super::error::{CompleteError, NoRoom, RepairError};
use super::outcome::{Completed, Repair, Snapshot, Stop};
use super::send::SendHalf;
use super::shared::Shared;
use crate::driver::{Completions, InRing, TxRing};
use crate::limit::{AnyLimit, Limit};
use crate::packet::{Packet, PacketSink};
use crate::probe::Probe;
use crate::qdisc::{AnyQdisc, Backlog, Qdisc};
use crate::sharing::Local;
use crate::tunables::{Setting, Tunable, TunableError};

/// A transmit queue whose two halves, device and probe are on one thread. It can move to another
/// one. For two threads, see [`Builder::build_halves`](super::Builder::build_halves).
pub struct Queue<D, L = AnyLimit, Q = AnyQdisc, P = ()> {
    pub(super) send: SendHalf<Q, ()>,
    pub(super) complete: CompleteHalf<L, ()>,
    pub(super) shared: Shared<Local>,
    pub(super) device: D,
    pub(super) probe: P,
}

impl<D, L: Limit, Q: Qdisc, P: Probe> Queue<D, L, Q, P> {
    /// Passes `packet` to the discipline, which might drop it. Call [`run`](Self::run) afterwards,
    /// once per batch.
    #[inline(always)]
    pub fn enqueue<S: PacketSink + ?Sized>(&mut self, packet: Packet, now_ns: u64, sink: &mut S) {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.send.enqueue(&self.shared, packet, at);
    }

    /// Passes `packet` to the discipline if that has room.
    ///
    /// # Errors
    /// [`NoRoom`] returns the packet.
    #[inline]
    pub fn offer<S: PacketSink + ?Sized>(
        &mut self,
        packet: Packet,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<(), NoRoom> {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.send.offer(&self.shared, packet, at)
    }

    /// Drops all packets in the discipline, ready or not.
    pub fn flush<S: PacketSink + ?Sized>(&mut self, now_ns: u64, sink: &mut S) {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.send.flush(&self.shared, at);
    }

    /// Closes the queue: drops the packets in the discipline, and returns the device and the probe.
    /// Packets in the device stay there.
    pub fn close<S: PacketSink + ?Sized>(mut self, now_ns: u64, sink: &mut S) -> (D, P) {
        self.flush(now_ns, sink);
        (self.device, self.probe)
    }

    /// Recovers from any error: forgets all packets in flight, begins a new epoch and restarts the
    /// queue, after the driver flushed or recreated its ring. Packets sent before the reset that
    /// return later still end in the sink. They are counted as stale and never reach the limit. The
    /// exception is a packet that returns after exactly 128 resets, or a multiple, because tags
    /// store seven bits of the epoch.
    pub fn reset(&mut self, now_ns: u64) {
        let Self {
            send,
            complete,
            shared,
            probe,
            ..
        } = self;
        shared.reset.request();
        shared.reset.begin();
        complete.end_reset(shared, now_ns, probe);
        send.take_part_in_reset(shared);
    }

    /// Returns `true` if a sender that found no room must sleep until the waker of the queue wakes
    /// it; `false` if the queue was restarted in the meantime.
    pub fn must_wait(&self) -> bool {
        self.shared.room.must_wait(|| self.shared.is_open())
    }

    /// Checks for a stall, as [`complete`](Self::complete) does.
    pub fn check_stall(&mut self, now_ns: u64) -> Option<Stall> {
        self.complete
            .check_stall(&self.shared, now_ns, &mut self.probe)
    }

    /// Returns when to call [`complete`](Self::complete) even if the device reports nothing, in ns.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.complete.next_wakeup(&self.shared)
    }

    /// Returns the limit and the ledger, in the limit's units.
    pub fn snapshot(&self) -> Snapshot {
        self.complete.snapshot(&self.shared)
    }

    /// Returns the packets and bytes in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.send.qdisc.backlog()
    }

    /// Returns the units in flight, as the limit counts them.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.shared.ledger.completer_in_flight()
    }

    /// Returns `true` if the limit stopped the queue.
    pub fn stopped_by_stack(&self) -> bool {
        self.shared.stack.is_closed()
    }

    /// Returns `true` if a full ring stopped the queue.
    pub fn stopped_by_driver(&self) -> bool {
        self.shared.driver.is_closed()
    }

    /// Returns the counters of the sender.
    pub fn sender_counters(&self) -> SenderCounters {
        self.shared.sender.read()
    }

    /// Returns the counters of the completer.
    pub fn completer_counters(&self) -> CompleterCounters {
        self.shared.completer.read()
    }

    /// Returns the settings of the rule: bounds, hold time and the current limit. Those of the
    /// queue ([`QueueConfig`](super::QueueConfig)) are not included.
    pub fn config(&self) -> Config {
        self.complete.config()
    }

    /// Changes a setting; a limit takes effect at the next completion.
    ///
    /// # Errors
    /// If the value is not allowed; nothing changes.
    pub fn set(&mut self, setting: Setting) -> Result<(), TunableError> {
        self.complete.set(&self.shared, setting)
    }

    /// Reads a tunable, in the unit that its variant states.
    pub fn read(&self, tunable: Tunable) -> u64 {
        self.complete.read(tunable, &self.shared)
    }

    /// Returns the rule that computes the limit. For the current limit in units, see
    /// [`snapshot`](Self::snapshot).
    pub fn limit(&self) -> &L {
        self.complete.control.rule()
    }

    /// Returns the discipline.
    pub fn qdisc(&self) -> &Q {
        &self.send.qdisc
    }

    /// Returns the device.
    #[inline]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device.
    #[inline]
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Returns the probe.
    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// Returns the probe.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }
}

impl<D: TxRing, L: Limit, Q: Qdisc, P: Probe> Queue<D, L, Q, P> {
    /// Sends while the limit has room and the largest packet's slots are free.
    #[inline]
    pub fn run<S: PacketSink + ?Sized>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Stop<<D as TxRing>::Error> {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.send.run(&self.shared, &mut self.device, at)
    }
}

impl<D: Completions, L: Limit, Q: Qdisc, P: Probe> Queue<D, L, Q, P> {
    /// Reaps completed packets: each goes to `sink` immediately, their sum to the limit. Call it
    /// when the device interrupts, and at [`next_wakeup`](Self::next_wakeup). Call
    /// [`run`](Self::run) afterwards if `schedule` is set.
    ///
    /// # Errors
    /// See [`CompleteError`]. Packets and room are returned in any case. Call it again after an
    /// error: the next batch that succeeds reports the results that the error hid (packets and
    /// bytes, a start, a stall, pending completions). While every call fails,
    /// [`check_stall`](Self::check_stall) returns the stall.
    #[inline]
    pub fn complete<S: PacketSink + ?Sized>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<Completed, CompleteError<<D as Completions>::Error>> {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.complete.complete(&self.shared, &mut self.device, at)
    }

    /// Corrects the ledger to the contents of the ring that the driver reports, and restarts the
    /// queue: lost packets count as complete. The limit stays.
    ///
    /// # Errors
    /// [`RepairError::Unsupported`] if the driver does not report them; [`reset`](Self::reset)
    /// always works.
    pub fn repair(&mut self, now_ns: u64) -> Result<Repair, RepairError> {
        let in_ring = self.device.in_ring().ok_or(RepairError::Unsupported)?;
        self.repair_to(in_ring, now_ns)
    }

    /// As [`repair`](Self::repair), for a caller that has the contents of the ring.
    ///
    /// # Errors
    /// If `in_ring` is more than can be counted; nothing changes.
    pub fn repair_to(&mut self, in_ring: InRing, now_ns: u64) -> Result<Repair, RepairError> {
        self.complete
            .repair(&self.shared, in_ring, now_ns, &mut self.probe)
    }
}
