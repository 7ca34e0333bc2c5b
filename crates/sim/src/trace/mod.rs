//! What happened at a queue, event by event, as text that can be read back: `docs/trace-format.md`.

mod read;
mod write;

use std::fmt;

use taut_path::limit::Done;
use taut_path::queue::StopReason;
use taut_path::{DropReason, Packet};

pub use read::{ReadError, TraceError, read};
pub use write::{Recorder, Tracer};

/// The version of the format, for its readers.
pub const FORMAT_VERSION: u32 = 1;
/// The version of a trace that was sampled: with events and a field that the other has not.
pub const SAMPLED_VERSION: u32 = 2;

/// The first words of a trace.
const MAGIC: &str = "taut-trace";

/// The first line: where the trace is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of everything drawn at random.
    pub seed: u64,
    /// Version of this crate.
    pub taut_version: String,
    /// How often it was looked, if the trace was sampled: then it says how much was in flight, and
    /// neither what was queued nor what was completed.
    pub sampled_hz: Option<u32>,
}

/// A line after the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A queue begins, empty, at time 0; what follows is of it.
    Row {
        /// Its name. Without tabs and line breaks, which are written as spaces.
        name: String,
        /// The limit that holds it back, as it is spelled on a command line.
        limit: String,
    },
    /// Something happened.
    Event {
        /// When, in ns.
        at_ns: u64,
        /// What.
        event: Event,
    },
}

/// What a trace says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mention {
    /// Length as one object: what a limit in bytes counts.
    pub bytes: u32,
    /// Hash of its flow.
    pub flow: u32,
    /// Its priority, 0..=15.
    pub priority: u8,
}

impl Mention {
    fn of(packet: &Packet) -> Self {
        Self {
            bytes: packet.wire_bytes(),
            flow: packet.flow,
            priority: packet.priority,
        }
    }
}

/// What happened at a queue: the events that a [`Probe`](taut_path::Probe) hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The discipline was handed a packet.
    Enqueue(Mention),
    /// The discipline gave it to the transmit queue.
    Dequeue(Mention),
    /// It is accounted for and goes to the device.
    Sent(Mention),
    /// The discipline marked it.
    Mark(Mention),
    /// It was dropped.
    Drop(Mention, DropReason),
    /// The device finished packets.
    Completed(Done),
    /// The limit at the start and after each completion, in its own units.
    Limit(u32),
    /// The queue stopped.
    Stopped(StopReason),
    /// The device ran dry while the limit held the sender back.
    Starved,
    /// The oldest byte in flight is older than the threshold.
    Stall {
        /// How old, in ns.
        age_ns: u64,
    },
    /// The queue was reset.
    Reset,
    /// So many bytes were found in flight. Of sampled traces only.
    InFlight(u32),
}

impl Event {
    /// What a trace says of it; nothing of what ends a simulation.
    fn of(event: taut_path::Event<'_>) -> Option<Self> {
        use taut_path::Event as Happened;
        Some(match event {
            Happened::Enqueued(packet) => Self::Enqueue(Mention::of(packet)),
            Happened::Dequeued(packet) => Self::Dequeue(Mention::of(packet)),
            Happened::Sent(packet) => Self::Sent(Mention::of(packet)),
            Happened::Marked(packet) => Self::Mark(Mention::of(packet)),
            Happened::Dropped(packet, reason) => Self::Drop(Mention::of(packet), reason),
            Happened::Completed(done) => Self::Completed(done),
            Happened::Limit(units) => Self::Limit(units),
            Happened::Stopped(reason) => Self::Stopped(reason),
            Happened::Starved => Self::Starved,
            Happened::Stalled(stall) => Self::Stall {
                age_ns: stall.age_ns,
            },
            Happened::Reset => Self::Reset,
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

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scenario, seed, taut) = (&self.scenario, self.seed, &self.taut_version);
        let version = match self.sampled_hz {
            None => FORMAT_VERSION,
            Some(_) => SAMPLED_VERSION,
        };
        write!(
            f,
            "{MAGIC}\t{version}\tscenario={scenario}\tseed={seed}\ttaut={taut}"
        )?;
        match self.sampled_hz {
            None => Ok(()),
            Some(hz) => write!(f, "\tsampled={hz}"),
        }
    }
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}", self.bytes, self.flow, self.priority)
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
            Self::Completed(done) => write!(f, "completed\t{}\t{}", done.bytes, done.packets),
            Self::Limit(units) => write!(f, "limit\t{units}"),
            Self::Stopped(reason) => write!(f, "stopped\t{}", stop_name(*reason)),
            Self::Starved => f.write_str("starved"),
            Self::Stall { age_ns } => write!(f, "stall\t{age_ns}"),
            Self::Reset => f.write_str("reset"),
            Self::InFlight(bytes) => write!(f, "inflight\t{bytes}"),
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
