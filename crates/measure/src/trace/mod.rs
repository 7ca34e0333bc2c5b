//! The events of a queue as text that can be read back: `docs/trace-format.md`.

mod read;
mod recording;
mod write;

use std::fmt;

use taut_path::limit::{CompletedCounts, CompletionBatch};
use taut_path::queue::StopReason;
use taut_path::{DropReason, Packet};

pub use read::{ReadError, read};
pub use recording::Recording;
pub use write::{Recorder, Tracer};

/// Version of the format.
pub const FORMAT_VERSION: u32 = 3;

/// Size of a typical line in bytes: an event with a packet. Only rare lines are shorter.
const LINE_BYTES: u64 = 32;

/// First word of a trace.
const MAGIC: &str = "taut-trace";

/// The first line of a trace: its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Version of this crate.
    pub taut_version: String,
}

/// A line after the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The start of a queue, empty and at time 0. The following events belong to it.
    Row {
        /// Name of the queue. Tabs and line breaks are written as spaces.
        name: String,
        /// Limit of the queue, in command line syntax.
        limit: String,
    },
    /// An event.
    Event {
        /// Time, in ns.
        at_ns: u64,
        /// The event.
        event: Event,
    },
}

/// The description of a packet in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketRecord {
    /// Length as one object, as counted by a limit in bytes; at least 1.
    pub bytes: u32,
    /// Hash of its flow.
    pub flow: u32,
    /// Its priority, 0..=15.
    pub priority: u8,
}

impl PacketRecord {
    fn of(packet: &Packet) -> Self {
        Self {
            bytes: packet.wire_bytes(),
            flow: packet.flow,
            priority: packet.priority,
        }
    }
}

/// The completion batch as passed to a rule, in addition to `sent` and `completed` events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchRecord {
    /// Completed units, in the limit's units; 0 only ends a series of budgeted polls.
    pub units: u32,
    /// The reap stopped at its budget with completions pending.
    pub more: bool,
    /// Times that the sender was blocked since the start or the last reset, wrapping.
    pub times_blocked: u32,
    /// Time at which the sender first queued since the rule requested it, in ns; `None` if it has
    /// not.
    pub sender_returned_ns: Option<u64>,
}

impl BatchRecord {
    fn of(batch: &CompletionBatch) -> Self {
        Self {
            units: batch.units,
            more: batch.more_pending,
            times_blocked: batch.times_blocked,
            sender_returned_ns: batch.sender_returned_ns,
        }
    }
}

/// An event of a queue, as passed to a [`Probe`](taut_path::Probe).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A packet was enqueued.
    Enqueue(PacketRecord),
    /// A packet was dequeued for transmission.
    Dequeue(PacketRecord),
    /// A packet was charged and is submitted to the device.
    Sent(PacketRecord),
    /// The discipline marked a packet.
    Mark(PacketRecord),
    /// A packet was dropped.
    Drop(PacketRecord, DropReason),
    /// Packets were queued, and the limit had no room for them.
    Blocked,
    /// The device completed packets.
    Completed(CompletedCounts),
    /// A completion batch was passed to the rule.
    Batch(BatchRecord),
    /// The limit at the start and after each completion, in its own units.
    Limit(u32),
    /// The queue stopped.
    Stopped(StopReason),
    /// The device ran dry while the limit blocked the sender.
    Starved,
    /// The oldest bytes in flight exceed the stall threshold.
    Stall {
        /// Their age, in ns.
        age_ns: u64,
    },
    /// The queue was reset.
    Reset,
}

impl Event {
    /// Converts an event; `None` for events that a trace does not contain.
    fn of(event: taut_path::Event<'_>) -> Option<Self> {
        use taut_path::Event as QueueEvent;
        Some(match event {
            QueueEvent::Enqueued(packet) => Self::Enqueue(PacketRecord::of(packet)),
            QueueEvent::Dequeued(packet) => Self::Dequeue(PacketRecord::of(packet)),
            QueueEvent::Sent(packet) => Self::Sent(PacketRecord::of(packet)),
            QueueEvent::Marked(packet) => Self::Mark(PacketRecord::of(packet)),
            QueueEvent::Dropped(packet, reason) => Self::Drop(PacketRecord::of(packet), reason),
            QueueEvent::Blocked => Self::Blocked,
            QueueEvent::Completed(done) => Self::Completed(done),
            QueueEvent::Batch(batch) => Self::Batch(BatchRecord::of(batch)),
            QueueEvent::Limit(units) => Self::Limit(units),
            QueueEvent::Stopped(reason) => Self::Stopped(reason),
            QueueEvent::Starved => Self::Starved,
            QueueEvent::Stalled(stall) => Self::Stall {
                age_ns: stall.age_ns,
            },
            QueueEvent::Reset => Self::Reset,
            _ => return None,
        })
    }
}

const fn stop_name(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Limit => "limit",
        StopReason::RingFull => "ring_full",
    }
}

/// Returns the name of the flag for pending completions.
const fn more_name(more: bool) -> &'static str {
    match more {
        true => "more",
        false => "last",
    }
}

/// Text instead of a time if the sender has not returned.
const NOT_RETURNED: &str = "-";

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scenario, seed, taut) = (&self.scenario, self.seed, &self.taut_version);
        write!(
            f,
            "{MAGIC}\t{FORMAT_VERSION}\tscenario={scenario}\tseed={seed}\ttaut={taut}"
        )
    }
}

impl fmt::Display for PacketRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}", self.bytes, self.flow, self.priority)
    }
}

impl fmt::Display for BatchRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = more_name(self.more);
        write!(f, "{}\t{more}\t{}\t", self.units, self.times_blocked)?;
        match self.sender_returned_ns {
            Some(at_ns) => write!(f, "{at_ns}"),
            None => f.write_str(NOT_RETURNED),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enqueue(packet) => write!(f, "enqueue\t{packet}"),
            Self::Dequeue(packet) => write!(f, "dequeue\t{packet}"),
            Self::Sent(packet) => write!(f, "sent\t{packet}"),
            Self::Mark(packet) => write!(f, "mark\t{packet}"),
            Self::Drop(packet, reason) => write!(f, "drop\t{packet}\t{}", reason.name()),
            Self::Blocked => f.write_str("blocked"),
            Self::Batch(batch) => write!(f, "batch\t{batch}"),
            Self::Completed(done) => write!(f, "completed\t{}\t{}", done.bytes, done.packets),
            Self::Limit(units) => write!(f, "limit\t{units}"),
            Self::Stopped(reason) => write!(f, "stopped\t{}", stop_name(*reason)),
            Self::Starved => f.write_str("starved"),
            Self::Stall { age_ns } => write!(f, "stall\t{age_ns}"),
            Self::Reset => f.write_str("reset"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row { name, limit } => write!(f, "row\t{name}\t{limit}"),
            Self::Event { at_ns, event } => write!(f, "{at_ns}\t{event}"),
        }
    }
}
