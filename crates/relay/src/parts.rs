//! The parts of a direction.

use std::io;

use taut_linux::Port;
use taut_path::{AnyLimit, AnyQdisc, LateSegmentation, PacketSink, Probe};

use crate::source::Source;

/// The parts of a direction.
pub trait Parts {
    type Port: Port;
    /// The frames of packets.
    type Frames: PacketSink;
    type Source: Source<Self::Frames>;
    /// Observes the queue.
    type Probe: Probe;

    /// Reopens the ring of `port`. `source` receives from the same device; if nothing is received
    /// on it, it is the source of the same direction.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened now.
    fn reopen(renewal: Renewal, port: &mut Self::Port, source: &mut Self::Source)
    -> io::Result<()>;
}

/// The device on which a ring is reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    SameDevice,
    /// Another device has the name.
    AnotherDevice,
}

/// Settings of the queue of a direction.
pub struct DirectionConfig {
    pub qdisc: AnyQdisc,
    pub limit: AnyLimit,
    pub split: LateSegmentation,
    /// Coalescing interval of completions: the poll interval, in ns.
    pub coalesce_ns: u64,
    /// Stall threshold: the maximum age of a packet in the device, in ns. The ring is then
    /// reopened.
    pub stall_ns: u64,
    /// Rate of a shaper in front, if there is one.
    pub rate_bits_per_s: Option<u64>,
}
