//! The state of a path at one moment.

use taut_path::qdisc::Backlog;

/// Where packets stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallPlace {
    /// In the program: released packets that it did not send.
    Program,
    /// In the kernel: sent datagrams that did not depart.
    Kernel,
}

/// Bytes that make no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Where they are.
    pub place: StallPlace,
    /// Their bytes, with the overhead.
    pub bytes: u32,
    /// The time without progress, in ns.
    pub age_ns: u64,
}

/// Counters of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GateCounters {
    /// Packets released to the program.
    pub released_packets: u64,
    /// Their bytes, without the overhead.
    pub released_bytes: u64,
    /// Datagrams that departed, including those whose completion was lost.
    pub departed_datagrams: u64,
    /// Bytes of datagrams whose departure was reported, with the overhead.
    pub departed_bytes: u64,
    /// Datagrams that the kernel rejected.
    pub rejected_datagrams: u64,
    /// Datagrams whose completion was lost.
    pub lost_completions: u64,
    /// Residuals: packets that were released, and that the program did not send.
    pub expired_packets: u64,
    /// Their bytes, with the overhead.
    pub expired_bytes: u64,
    /// Times that releases paused because the program had held packets for 200 ms.
    pub pauses: u64,
    /// The last expiry of residuals.
    pub last_expiry: Option<Stall>,
    /// Expired packets that were sent later, and datagrams sent before an endpoint moved.
    pub stale_packets: u64,
    /// Completion batches.
    pub completion_batches: u64,
    /// Times that the limit blocked a packet.
    pub times_blocked: u64,
    /// Stalls of the kernel.
    pub stalls: u64,
}

/// Counters of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueueCounters {
    /// Packets offered.
    pub enqueued_packets: u64,
    /// Packets that the discipline dropped.
    pub dropped_packets: u64,
    /// Packets that carry a new ECN mark.
    pub marked_packets: u64,
}

/// A path at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The limit in bytes, with the overhead.
    pub limit: u32,
    /// `false` if no queue exists below the socket. Packets are then released while
    /// `program_bytes` is below 256 KiB.
    pub limit_applies: bool,
    /// Bytes that were released and not yet sent.
    pub program_bytes: u32,
    /// Bytes that were sent and have not departed.
    pub kernel_bytes: u32,
    /// Packets that wait in the discipline.
    pub backlog: Backlog,
    /// The current stall of the kernel.
    pub stall: Option<Stall>,
    /// The counters of the gate.
    pub gate: GateCounters,
    /// The counters of the queue.
    pub queue: QueueCounters,
}
