//! The seam to the disciplines: the only place where packets wait.

mod any;
mod bounded_ring;
mod codel;
mod codel_parameters;
mod codel_state;
mod fifo;
mod fq_codel;
mod pfifo_fast;
mod shaped;
mod table;
mod tokens;

use alloc::boxed::Box;

use crate::packet::{Packet, PacketSink};

pub use any::AnyQdisc;
pub use codel::Codel;
pub use codel_state::CodelConfig;
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use pfifo_fast::{BandLimit, PfifoFast};
pub use shaped::Shaped;
pub use table::{DISCIPLINES, Discipline, ParseQdiscError, by_name, marks, spelled_out};

use tokens::Range;

/// The most packets that a discipline may be told to hold; their frames must exist.
const MAX_LIMIT_PACKETS: u32 = 1_000_000;

/// What `limit` may be.
const LIMIT_PACKETS: Range = Range::number("packets", 1, MAX_LIMIT_PACKETS as u64);

/// The length of a transmit queue of an Ethernet device (`txqueuelen`).
const DEFAULT_LIMIT_PACKETS: u32 = 1000;

/// Packets to make room for at the start, so that nothing is allocated later.
fn capacity(limit_packets: u32) -> usize {
    limit_packets.min(MAX_LIMIT_PACKETS) as usize
}

/// What waits in a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Where a burst of packets goes: those to send, and those that are dropped or marked on the way.
pub trait Burst: PacketSink {
    /// Takes the next packet to send. Returns whether there is room for one more.
    fn push(&mut self, packet: Packet) -> bool;
}

/// A queueing discipline. Time is an argument, in ns, and never goes back.
pub trait Qdisc {
    /// Takes `packet`. Whatever is dropped for it, itself included, goes to `sink` with a reason.
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink);

    /// The packet to send next, if one is ready. May drop others on the way.
    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet>;

    /// Hands the packets that are ready to `burst`, in order, at least one if there is one, until
    /// it has no more room. The same as [`dequeue`](Self::dequeue) again and again; a discipline may
    /// know how to do it with fewer moves.
    fn dequeue_burst(&mut self, now_ns: u64, burst: &mut dyn Burst) {
        while let Some(packet) = self.dequeue(now_ns, burst) {
            if !burst.push(packet) {
                break;
            }
        }
    }

    /// Takes back what is left of the packet that it gave last, to the place that this one was taken
    /// from: first in its class, in which nothing was enqueued meanwhile. `unsent_bytes` less were sent
    /// than it gave, headers not counted. It was judged already, and is not again; but it may be dropped
    /// for others.
    fn hand_back(&mut self, rest: Packet, unsent_bytes: u32, now_ns: u64);

    /// Whether it would give a rest again that it takes back at once. Then it need not take it back while
    /// more of it may go.
    #[inline]
    fn rest_is_next(&self) -> bool {
        false
    }

    /// Empties it, for a queue that is taken down: hands over every packet, ready or not, without
    /// judging any.
    fn drain(&mut self, gone: &mut dyn FnMut(Packet));

    /// Whether `packet` could be enqueued now without a drop; a sender that can wait asks first.
    fn accepts(&self, packet: &Packet) -> bool;

    /// What waits now.
    fn backlog(&self) -> Backlog;

    /// When a packet will be ready, if packets wait and none is ready now.
    fn next_ready(&self, _now_ns: u64) -> Option<u64> {
        None
    }
}

macro_rules! behind_a_pointer {
    ($($pointer:ty),*) => {$(
        impl<Q: Qdisc + ?Sized> Qdisc for $pointer {
            fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
                (**self).enqueue(packet, now_ns, sink);
            }

            fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
                (**self).dequeue(now_ns, sink)
            }

            fn dequeue_burst(&mut self, now_ns: u64, burst: &mut dyn Burst) {
                (**self).dequeue_burst(now_ns, burst);
            }

            fn hand_back(&mut self, rest: Packet, unsent_bytes: u32, now_ns: u64) {
                (**self).hand_back(rest, unsent_bytes, now_ns);
            }

            fn rest_is_next(&self) -> bool {
                (**self).rest_is_next()
            }

            fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
                (**self).drain(gone);
            }

            fn accepts(&self, packet: &Packet) -> bool {
                (**self).accepts(packet)
            }

            fn backlog(&self) -> Backlog {
                (**self).backlog()
            }

            fn next_ready(&self, now_ns: u64) -> Option<u64> {
                (**self).next_ready(now_ns)
            }
        }
    )*};
}

behind_a_pointer!(Box<Q>, &mut Q);
