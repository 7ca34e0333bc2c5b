//! The sending half of a queue, on a thread of its own.

use super::admission::Admission;
use super::context::Context;
use super::counters::SenderCounters;
use super::error::NoRoom;
use super::outcome::Stop;
use super::send::SendHalf;
use super::shared::HalfHandle;
use crate::driver::TxRing;
use crate::packet::{Packet, PacketSink};
use crate::probe::Probe;
use crate::qdisc::{AnyQdisc, Backlog, Qdisc};

/// The sending half: the discipline, the sender's half of the ledger, and the ring.
pub struct Sender<R, Q = AnyQdisc, P = (), A = ()> {
    pub(super) half: SendHalf<Q, A>,
    pub(super) shared: HalfHandle,
    pub(super) ring: R,
    pub(super) probe: P,
}

impl<R, Q: Qdisc, P: Probe, A: Admission> Sender<R, Q, P, A> {
    /// Passes `packet` to the discipline, which might drop it. Call [`run`](Self::run) afterwards,
    /// once per batch.
    pub fn enqueue<S: PacketSink + ?Sized>(&mut self, packet: Packet, now_ns: u64, sink: &mut S) {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.half.enqueue(&self.shared, packet, at);
    }

    /// Passes `packet` to the discipline if that has room.
    ///
    /// # Errors
    /// [`NoRoom`] returns the packet; use [`must_wait`](Self::must_wait) to wait.
    pub fn offer<S: PacketSink + ?Sized>(
        &mut self,
        packet: Packet,
        now_ns: u64,
        sink: &mut S,
    ) -> Result<(), NoRoom> {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.half.offer(&self.shared, packet, at)
    }

    /// For a sender that found no room in [`run`](Self::run): arms the waker of the queue, then
    /// checks the room again. Returns `true` if the sender must sleep; `false` if the queue was
    /// restarted in the meantime, or a reset waits for this half.
    pub fn must_wait(&self) -> bool {
        let shared = &*self.shared;
        shared
            .room
            .must_wait(|| shared.is_open() || shared.is_closed() || shared.reset.is_requested())
    }

    /// Drops all packets in the discipline, ready or not.
    pub fn flush<S: PacketSink + ?Sized>(&mut self, now_ns: u64, sink: &mut S) {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.half.flush(&self.shared, at);
    }

    /// Requests a reset: this half begins it at its next [`run`](Self::run), and sends nothing
    /// until the other half ends it at its next [`complete`](super::Completer::complete). See
    /// [`Queue::reset`](super::Queue::reset).
    pub fn request_reset(&self) {
        self.shared.request_reset();
    }

    /// Returns the packets and bytes in the discipline.
    pub fn backlog(&self) -> Backlog {
        self.half.qdisc.backlog()
    }

    /// Returns the units in flight, as the limit counts them. The completer can lower it at any
    /// time.
    pub fn in_flight(&self) -> u32 {
        self.shared.ledger.in_flight()
    }

    /// Returns the counters of this half.
    pub fn counters(&self) -> SenderCounters {
        self.shared.sender.read()
    }

    /// Returns the ring.
    pub fn ring(&self) -> &R {
        &self.ring
    }

    /// Returns the ring.
    pub fn ring_mut(&mut self) -> &mut R {
        &mut self.ring
    }
}

impl<R: TxRing, Q: Qdisc, P: Probe, A: Admission> Sender<R, Q, P, A> {
    /// Sends while the limit has room and the largest packet's slots are free.
    pub fn run<S: PacketSink + ?Sized>(&mut self, now_ns: u64, sink: &mut S) -> Stop<R::Error> {
        let at = Context::new(now_ns, sink, &mut self.probe);
        self.half.run(&self.shared, &mut self.ring, at)
    }

    /// Runs until no packet is ready. While the limit or the ring has no room, it parks this
    /// thread, which the completer wakes; the waker of the queue is not needed. `now_ns` is the
    /// clock, read before each run. Needs feature `std`.
    ///
    /// It never returns [`Stop::Limit`] or [`Stop::RingFull`]. While completions stall it does not
    /// return, until the queue is reset or the completer is dropped.
    #[cfg(feature = "std")]
    pub fn run_blocking<S: PacketSink + ?Sized>(
        &mut self,
        mut now_ns: impl FnMut() -> u64,
        sink: &mut S,
    ) -> Stop<R::Error> {
        loop {
            match self.run(now_ns(), sink) {
                Stop::Limit | Stop::RingFull => {
                    // First, because the completer can wake this thread as soon as it waits.
                    self.shared
                        .room
                        .replace_parked(Some(std::thread::current()));
                    if self.must_wait() {
                        std::thread::park();
                    }
                }
                stop => return stop,
            }
        }
    }
}
