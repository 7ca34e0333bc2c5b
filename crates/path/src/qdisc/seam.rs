//! The trait of disciplines: the only place where packets wait.

use alloc::boxed::Box;

use crate::packet::{Packet, PacketSink};

/// The backlog of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets queued.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Receives a burst of packets: those to send, and as a [`PacketSink`] those dropped or marked.
pub trait Burst: PacketSink {
    /// Accepts the next packet to send. Returns `true` if there is room for one more.
    fn push(&mut self, packet: Packet) -> bool;
}

/// Support of a discipline for requeueing the remainder of a GSO packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequeueSupport {
    /// None.
    None,
    /// Supported; another packet can be dequeued before the remainder.
    InTurn,
    /// Supported, and the remainder is dequeued next. The queue keeps the remainder while more of
    /// it can be sent.
    Next,
}

/// A queueing discipline. Time is an argument, in ns, and never goes back.
///
/// A discipline implements [`enqueue`](Self::enqueue), [`dequeue`](Self::dequeue),
/// [`drain`](Self::drain), [`accepts`](Self::accepts) and [`backlog`](Self::backlog).
///
/// A discipline drops a packet only into the sink, and its backlog is exact: the users of a queue
/// count what they have not received back, and wait for it.
pub trait Qdisc {
    /// Accepts `packet`, or drops it or others into `sink`, with a reason.
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink);

    /// Returns the packet to send next, if one is ready. It can drop others into `sink`.
    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet>;

    /// Moves packets that are ready to `burst`, in order and at least one if there is one, until
    /// `burst` has no more room. Equivalent to calls of [`dequeue`](Self::dequeue), with fewer
    /// moves of packets.
    fn dequeue_burst(&mut self, now_ns: u64, burst: &mut dyn Burst) {
        while let Some(packet) = self.dequeue(now_ns, burst) {
            if !burst.push(packet) {
                break;
            }
        }
    }

    /// Returns the support for [`requeue`](Self::requeue), which [late
    /// segmentation](crate::late_segmentation) requires; without it GSO packets are sent whole.
    #[inline]
    fn requeue_support(&self) -> RequeueSupport {
        RequeueSupport::None
    }

    /// Requeues the remainder of the packet that was dequeued last, at the place of that packet:
    /// the head of its class. Nothing was enqueued in the meantime. `unsent_bytes` of the packet
    /// were not sent, without headers. The discipline already dropped, marked or passed the packet
    /// when it was dequeued, and does not repeat that. But it can drop the remainder to make room.
    ///
    /// # Errors
    /// Returns the remainder if the discipline rejects it; the queue then drops it.
    fn requeue(&mut self, remainder: Packet, unsent_bytes: u32, now_ns: u64) -> Result<(), Packet> {
        let _ = (unsent_bytes, now_ns);
        Err(remainder)
    }

    /// Passes every packet to `on_packet`, ready or not, for a queue that is flushed or closed.
    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet));

    /// Returns `true` if `packet` could be enqueued now without a drop.
    fn accepts(&self, packet: &Packet) -> bool;

    /// Returns the backlog.
    fn backlog(&self) -> Backlog;

    /// Returns the maximum number of packets in the discipline, if bounded. A caller allocates that
    /// many frames.
    fn max_packets(&self) -> Option<u32> {
        None
    }

    /// Returns the time at which the first packet will be ready, if packets wait and none is ready.
    fn next_ready(&self, _now_ns: u64) -> Option<u64> {
        None
    }
}

/// Implements all methods of [`Qdisc`] by those of another discipline, inside an `impl` block.
macro_rules! forward_qdisc {
    ($self:ident => $inner:expr) => {
        fn enqueue(&mut $self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
            $inner.enqueue(packet, now_ns, sink);
        }

        fn dequeue(&mut $self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
            $inner.dequeue(now_ns, sink)
        }

        fn dequeue_burst(&mut $self, now_ns: u64, burst: &mut dyn Burst) {
            $inner.dequeue_burst(now_ns, burst);
        }

        fn requeue_support(&$self) -> RequeueSupport {
            $inner.requeue_support()
        }

        fn requeue(
            &mut $self,
            remainder: Packet,
            unsent_bytes: u32,
            now_ns: u64,
        ) -> Result<(), Packet> {
            $inner.requeue(remainder, unsent_bytes, now_ns)
        }

        fn drain(&mut $self, on_packet: &mut dyn FnMut(Packet)) {
            $inner.drain(on_packet);
        }

        fn accepts(&$self, packet: &Packet) -> bool {
            $inner.accepts(packet)
        }

        fn backlog(&$self) -> Backlog {
            $inner.backlog()
        }

        fn max_packets(&$self) -> Option<u32> {
            $inner.max_packets()
        }

        fn next_ready(&$self, now_ns: u64) -> Option<u64> {
            $inner.next_ready(now_ns)
        }
    };
}

pub(super) use forward_qdisc;

impl<Q: Qdisc + ?Sized> Qdisc for Box<Q> {
    forward_qdisc!(self => (**self));
}

impl<Q: Qdisc + ?Sized> Qdisc for &mut Q {
    forward_qdisc!(self => (**self));
}
