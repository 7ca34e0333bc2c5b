//! Both halves of a queue and its device, on one thread.

use alloc::sync::Arc;

use taut_dql::{Config, Stall};

use super::builder::Builder;
use super::complete_side::CompleteSide;
use super::completer::Completer;
use super::counters::{CompleterCounters, SenderCounters};
use super::error::{CompleteError, NoRoom, RepairError};
use super::send_side::{Context, SendSide};
use super::sender::Sender;
use super::shared::Shared;
use super::watch::Watch;
use super::{Completed, Repair, Snapshot, Stop};
use crate::driver::{Completions, InRing, TxRing};
use crate::knobs::{Knob, KnobError, Setting};
use crate::limit::{AnyLimit, Limit};
use crate::packet::{Packet, PacketSink};
use crate::probe::Probe;
use crate::qdisc::{AnyQdisc, Backlog, Qdisc};
use crate::sharing::{Local, Word};

/// A transmit queue whose two halves, device and probe live on one thread. It can move to another;
/// [`split`](Self::split) divides it for two.
pub struct Queue<D, L = AnyLimit, Q: Qdisc = AnyQdisc, P = ()> {
    pub(super) send: SendSide<Q>,
    pub(super) complete: CompleteSide<L>,
    shared: Shared<Local>,
    device: D,
    probe: P,
}

impl<R: TxRing, C: Completions> Queue<(R, C)> {
    /// Begins a queue in front of the two halves of a ring. How large the ring is, it says itself.
    pub fn builder(ring: R, completions: C) -> Builder<(R, C)> {
        Builder::new((ring, completions))
    }
}

impl<D: TxRing + Completions> Queue<D> {
    /// Begins a queue in front of a device that is one piece. Such a queue cannot be split.
    pub fn builder_for(device: D) -> Builder<D> {
        Builder::new(device)
    }
}

impl<D, L: Limit, Q: Qdisc, P: Probe> Queue<D, L, Q, P> {
    pub(super) fn of(
        send: SendSide<Q>,
        complete: CompleteSide<L>,
        shared: Shared<Local>,
        device: D,
        probe: P,
    ) -> Self {
        Self {
            send,
            complete,
            shared,
            device,
            probe,
        }
    }

    /// Hands `packet` to the discipline, which drops what it cannot hold. Follow with
    /// [`run`](Self::run), once for a batch.
    #[inline(always)]
    pub fn enqueue<S: PacketSink + ?Sized>(&mut self, packet: Packet, now_ns: u64, sink: &mut S) {
        let probe = &mut self.probe;
        let at = Context {
            now_ns,
            sink,
            probe,
        };
        self.send.enqueue(&self.shared, packet, at);
    }

    /// Hands `packet` to the discipline only if it can be kept.
    ///
    /// # Errors
    /// [`NoRoom`] gives the packet back.
    #[inline]
    pub fn offer<S: PacketSink + ?Sized>(
        &mut self,
        packet: Packet,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<(), NoRoom> {
        let probe = &mut self.probe;
        let at = Context {
            now_ns,
            sink,
            probe,
        };
        self.send.offer(&self.shared, packet, at)
    }

    /// Drops everything that waits in the discipline, ready or not.
    pub fn flush<S: PacketSink + ?Sized>(&mut self, now_ns: u64, sink: &mut S) {
        let probe = &mut self.probe;
        let at = Context {
            now_ns,
            sink,
            probe,
        };
        self.send.flush(&self.shared, at);
    }

    /// Takes the queue down: drops what waits, and gives the device and the probe back. What is in
    /// the device stays there.
    pub fn close<S: PacketSink + ?Sized>(mut self, now_ns: u64, sink: &mut S) -> (D, P) {
        self.flush(now_ns, sink);
        (self.device, self.probe)
    }

    /// **The way back**, whatever went wrong: forgets everything in flight, begins a new epoch and
    /// starts the queue again, after the driver has flushed or remade its ring. Packets of before
    /// that come back later still end in the sink, are counted as late and never reach the limit, unless
    /// 256 resets later: epochs are told apart by eight bits.
    pub fn reset(&mut self, now_ns: u64) {
        self.shared.resets_asked.add(1);
        self.send.begin_reset(&self.shared);
        self.complete
            .finish_reset(&self.shared, now_ns, &mut self.probe);
    }

    /// Whether a sender that found no room should sleep until the waker of the queue wakes it;
    /// false if the queue was started again meanwhile.
    pub fn must_wait(&self) -> bool {
        self.shared.room.must_wait(|| self.shared.is_open())
    }

    /// Looks for a stall; [`complete`](Self::complete) does so too.
    pub fn check_stall(&mut self, now_ns: u64) -> Option<Stall> {
        self.complete
            .check_stall(&self.shared, now_ns, &mut self.probe)
    }

    /// When to call [`complete`](Self::complete) even if the device says nothing, in ns.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.complete.next_wakeup(&self.shared)
    }

    /// The limit and the ledger, in the limit's units.
    pub fn snapshot(&self) -> Snapshot {
        self.complete.snapshot(&self.shared)
    }

    /// What waits in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.send.discipline.backlog()
    }

    /// Units in flight, as the limit counts them.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.send.ledger.in_flight(&self.shared.ledger)
    }

    /// Whether the limit stopped the queue.
    pub fn stopped_by_stack(&self) -> bool {
        self.shared.stack.is_closed()
    }

    /// Whether a full ring stopped the queue.
    pub fn stopped_by_driver(&self) -> bool {
        self.shared.driver.is_closed()
    }

    /// What was sent so far.
    pub fn sender_counters(&self) -> SenderCounters {
        self.shared.published.sender.read()
    }

    /// What came back so far.
    pub fn completer_counters(&self) -> CompleterCounters {
        self.shared.published.completer.read()
    }

    /// The settings of the limit.
    pub fn config(&self) -> Config {
        self.complete.config()
    }

    /// Changes a setting; a limit takes effect at the next completion.
    ///
    /// # Errors
    /// Says what is allowed; nothing changes.
    pub fn set(&mut self, setting: Setting) -> Result<(), KnobError> {
        self.complete.set(setting)
    }

    /// Reads a knob, in the unit that its variant states.
    pub fn read(&self, knob: Knob) -> u64 {
        self.complete.read(knob, &self.shared)
    }

    /// Changes how far apart completions are handed to the limit, in ns; 0 hands on each round.
    pub fn set_cadence_ns(&mut self, cadence_ns: u64) {
        self.complete.set_cadence_ns(cadence_ns);
    }

    /// The rule.
    pub fn limit(&self) -> &L {
        self.complete.rule()
    }

    /// The discipline.
    pub fn qdisc(&self) -> &Q {
        &self.send.discipline
    }

    /// The device.
    #[inline]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device.
    #[inline]
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
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

impl<D: TxRing, L: Limit, Q: Qdisc, P: Probe> Queue<D, L, Q, P> {
    /// Sends while the limit has room and the largest packet's slots are free.
    #[inline]
    pub fn run<S: PacketSink + ?Sized>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Stop<<D as TxRing>::Error> {
        let probe = &mut self.probe;
        let at = Context {
            now_ns,
            sink,
            probe,
        };
        self.send.run(&self.shared, &mut self.device, at)
    }
}

impl<D: Completions, L: Limit, Q: Qdisc, P: Probe> Queue<D, L, Q, P> {
    /// Takes what the device finished: each packet goes to `sink` at once, the sum to the limit.
    /// Call it when the device interrupts, and when [`next_wakeup`](Self::next_wakeup) says so.
    /// Follow with [`run`](Self::run) if it says `schedule`.
    ///
    /// # Errors
    /// See [`CompleteError`]. Packets and room came back all the same. Complete again after an error:
    /// what it hid (packets and bytes, a start, a stall, more that is finished) is told by the next round that succeeds.
    #[inline]
    pub fn complete<S: PacketSink + ?Sized>(
        &mut self,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<Completed, CompleteError<<D as Completions>::Error>> {
        let probe = &mut self.probe;
        let at = Context {
            now_ns,
            sink,
            probe,
        };
        self.complete.complete(&self.shared, &mut self.device, at)
    }

    /// Puts the ledger right from what the device says that it holds, and starts the queue again:
    /// what was lost on the way counts as complete. The limit stays.
    ///
    /// # Errors
    /// [`RepairError::NotKnown`] if the driver does not say; [`reset`](Self::reset) always works.
    pub fn repair(&mut self, now_ns: u64) -> Result<Repair, RepairError> {
        let in_ring = self.device.in_ring().ok_or(RepairError::NotKnown)?;
        self.repair_to(in_ring, now_ns)
    }

    /// As [`repair`](Self::repair), for an owner who knows what the device holds.
    ///
    /// # Errors
    /// If that is more than can be counted; nothing changes.
    pub fn repair_to(&mut self, in_ring: InRing, now_ns: u64) -> Result<Repair, RepairError> {
        self.complete
            .repair(&self.shared, in_ring, now_ns, &mut self.probe)
    }
}

impl<R, C, L: Limit, Q: Qdisc, P: Probe + Clone> Queue<(R, C), L, Q, P> {
    /// Divides the queue for two threads, and gives what any thread may watch it through. Each half
    /// has a clone of the probe.
    pub fn split(self) -> (Sender<R, Q, P>, Completer<C, L, P>, Watch) {
        let probe = self.probe.clone();
        self.split_probes(|own| (own, probe))
    }
}

impl<R, C, L: Limit, Q: Qdisc, P: Probe> Queue<(R, C), L, Q, P> {
    /// As [`split`](Self::split), with a probe for each half made of the one.
    pub fn split_probes<A: Probe, B: Probe>(
        self,
        divide: impl FnOnce(P) -> (A, B),
    ) -> (Sender<R, Q, A>, Completer<C, L, B>, Watch) {
        let Self {
            send,
            complete,
            shared,
            device: (ring, completions),
            probe,
        } = self;
        let shared = Arc::new(shared.convert());
        shared.published.trust(complete.is_trusted());
        let (sender_probe, completer_probe) = divide(probe);
        shared.published.set_config(&complete.config());
        let watch = Watch::new(shared.clone());
        let sender = Sender::new(send, shared.clone(), ring, sender_probe);
        let completer = Completer::new(complete, shared, completions, completer_probe);
        (sender, completer, watch)
    }
}
