//! What a direction is made of.

use std::io;

use taut_linux::Port;
use taut_path::{AnyLimit, AnyQdisc, LateSegmentation, PacketSink, Probe};

use crate::source::Source;

/// What a direction is made of.
pub trait Parts {
    type Port: Port;
    /// Where the bytes of packets are.
    type Frames: PacketSink;
    type Source: Source<Self::Frames>;
    /// Observes the queue.
    type Probe: Probe;

    /// Opens the ring of `port` again. `source` is what the same device receives; if nothing is received
    /// on it, the source of the same direction.
    ///
    /// # Errors
    /// If it cannot be opened now.
    fn reopen(renewal: Renewal, port: &mut Self::Port, source: &mut Self::Source)
    -> io::Result<()>;
}

/// Which device a ring is opened on again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    SameDevice,
    /// Another device has the name.
    AnotherDevice,
}

/// The queue of a direction.
pub struct DirectionConfig {
    pub qdisc: AnyQdisc,
    pub limit: AnyLimit,
    pub split: LateSegmentation,
    /// Time between two looks for completions, in ns.
    pub cadence_ns: u64,
    /// The age of a packet in the device that counts as a stall, in ns.
    pub stall_ns: u64,
    /// Rate of a shaper in front, if there is one.
    pub rate_bits_per_s: Option<u64>,
}
