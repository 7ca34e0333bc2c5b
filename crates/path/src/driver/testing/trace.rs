//! A driver that reports every call to a callback.

use alloc::fmt;

use crate::driver::{ChunkSupport, Completions, InRing, TxRing};
use crate::packet::Packet;

/// A call of a driver and its result.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// The ring accepted a packet.
    Submitted {
        /// Index of its frame.
        frame: u32,
        /// Its length, see [`Packet::wire_bytes`].
        wire_bytes: u32,
        /// Slots that were free after it.
        slots_free: u32,
    },
    /// The ring rejected a packet.
    Rejected(&'a Packet),
    /// The doorbell rang.
    Kicked,
    /// The doorbell failed, with the driver's error.
    KickFailed(&'a dyn fmt::Debug),
    /// The ring returned a packet.
    Reaped(&'a Packet),
    /// A reap ended.
    ReapEnded {
        /// Packets that it returned.
        packets: u32,
        /// `true` if the budget ended the reap with completions pending.
        more: bool,
    },
    /// A reap failed, with the driver's error.
    ReapFailed(&'a dyn fmt::Debug),
}

impl fmt::Display for TraceEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut packet = |what, packet: &Packet| {
            let (frame, bytes) = (packet.frame().index(), packet.wire_bytes());
            write!(f, "{what} frame {frame}, {bytes} bytes")
        };
        match self {
            Self::Rejected(rejected) => packet("rejected", rejected),
            Self::Reaped(reaped) => packet("reaped", reaped),
            Self::Submitted {
                frame,
                wire_bytes,
                slots_free,
            } => write!(
                f,
                "submitted frame {frame}, {wire_bytes} bytes; {slots_free} slots free"
            ),
            Self::Kicked => f.write_str("kicked"),
            Self::KickFailed(error) => write!(f, "kick failed: {error:?}"),
            Self::ReapEnded { packets, more } => {
                let more = if *more {
                    ", more completions pending"
                } else {
                    ""
                };
                write!(f, "reaped {packets} packets{more}")
            }
            Self::ReapFailed(error) => write!(f, "reaping failed: {error:?}"),
        }
    }
}

/// Wraps a driver, or one half of it, and passes every call to `callback`, with its time in ns. The
/// calls themselves do not change.
///
/// ```
/// use taut_path::driver::testing::{Trace, mock};
/// use taut_path::pool::FramePool;
/// use taut_path::Queue;
///
/// let (tx, completions, _device) = mock::ring(8);
/// let mut lines = Vec::new();
/// let tx = Trace::new(tx, |now_ns, event| lines.push(format!("{now_ns} {event}")));
///
/// let mut pool = FramePool::new(4, 64);
/// let mut queue = Queue::builder(tx, completions).build(0)?;
/// queue.enqueue(pool.packet(b"hello")?, 0, &mut pool);
/// let _ = queue.run(700, &mut pool);
/// drop(queue);
/// assert_eq!(lines, ["700 submitted frame 0, 5 bytes; 7 slots free", "700 kicked"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trace<D, F> {
    /// The driver.
    pub driver: D,
    /// Receives each call after it returned.
    pub callback: F,
}

impl<D, F: FnMut(u64, TraceEvent<'_>)> Trace<D, F> {
    /// Wraps `driver`; `callback` receives its calls and their times in ns.
    pub fn new(driver: D, callback: F) -> Self {
        Self { driver, callback }
    }
}

impl<D, F> TxRing for Trace<D, F>
where
    D: TxRing<Error: fmt::Debug>,
    F: FnMut(u64, TraceEvent<'_>),
{
    type Error = D::Error;

    fn capacity_slots(&self) -> u32 {
        self.driver.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        self.driver.slots_free()
    }

    fn slots_of_largest(&self) -> u32 {
        self.driver.slots_of_largest()
    }

    fn chunk_support(&self) -> ChunkSupport {
        self.driver.chunk_support()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let (frame, wire_bytes) = (packet.frame().index(), packet.wire_bytes());
        let submitted = self.driver.submit(packet, now_ns);
        let event = match &submitted {
            Ok(()) => TraceEvent::Submitted {
                frame,
                wire_bytes,
                slots_free: self.driver.slots_free(),
            },
            Err(packet) => TraceEvent::Rejected(packet),
        };
        (self.callback)(now_ns, event);
        submitted
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), D::Error> {
        let kicked = self.driver.kick(now_ns);
        let event = match &kicked {
            Ok(()) => TraceEvent::Kicked,
            Err(error) => TraceEvent::KickFailed(error),
        };
        (self.callback)(now_ns, event);
        kicked
    }
}

impl<D, F> Completions for Trace<D, F>
where
    D: Completions<Error: fmt::Debug>,
    F: FnMut(u64, TraceEvent<'_>),
{
    type Error = D::Error;

    fn slots_free(&self) -> u32 {
        self.driver.slots_free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, D::Error> {
        let callback = &mut self.callback;
        let mut packets = 0;
        let reaped = self.driver.reap(now_ns, budget_packets, &mut |packet| {
            packets += 1;
            callback(now_ns, TraceEvent::Reaped(&packet));
            freed(packet);
        });
        let event = match &reaped {
            Ok(more) => TraceEvent::ReapEnded {
                packets,
                more: *more,
            },
            Err(error) => TraceEvent::ReapFailed(error),
        };
        callback(now_ns, event);
        reaped
    }

    fn in_ring(&self) -> Option<InRing> {
        self.driver.in_ring()
    }

    fn completions_valid(&self) -> bool {
        self.driver.completions_valid()
    }
}
