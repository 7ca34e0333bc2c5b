//! The state of a path at one moment.

use taut_path::qdisc::Backlog;

/// A stall of the kernel: no datagram departs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStall {
    /// Bytes in the kernel.
    pub bytes: u32,
    /// Time since the last departure, in ns.
    pub age_ns: u64,
}

/// Counters of a path. All bytes include the
/// [overhead](crate::Builder::overhead_bytes) of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PathCounters {
    /// Packets released to the program.
    pub released_packets: u64,
    /// Bytes of the released packets.
    pub released_bytes: u64,
    /// Datagrams without a released packet, such as handshakes. Also those of packets that expired
    /// before the program sent them.
    pub unmatched_datagrams: u64,
    /// Bytes of the unmatched datagrams.
    pub unmatched_bytes: u64,
    /// Datagrams that departed, including [`lost_completions`](Self::lost_completions).
    pub departed_datagrams: u64,
    /// Bytes of the departed datagrams, without lost completions.
    pub departed_bytes: u64,
    /// Datagrams that the kernel rejected.
    pub rejected_datagrams: u64,
    /// Datagrams whose completion was lost, or whose socket was closed.
    pub lost_completions: u64,
    /// Residuals that expired: packets that were released, and that the program did not send.
    pub expired_packets: u64,
    /// Bytes of the expired packets.
    pub expired_bytes: u64,
    /// Times that releases paused because the program had held packets for 200 ms.
    pub pauses: u64,
    /// Residuals that the program sent after they had expired. Only the last 256 expired packets
    /// are compared with a datagram. Their datagrams also count as unmatched.
    pub late_residuals: u64,
    /// Datagrams that departed after their peer had moved to another endpoint.
    pub stale_datagrams: u64,
    /// Completion batches.
    pub completion_batches: u64,
    /// Times that the limit blocked waiting packets.
    pub times_blocked: u64,
    /// Stalls of the kernel.
    pub stalls: u64,
}

/// Counters of a path's discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueueCounters {
    /// Packets that the program pushed.
    pub enqueued_packets: u64,
    /// Packets that the discipline dropped.
    pub dropped_packets: u64,
    /// Packets that the discipline marked with ECN.
    pub marked_packets: u64,
}

/// A path at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The limit in bytes, with the overhead of each packet.
    pub limit: u32,
    /// The minimum of the limit, in bytes.
    pub min_limit: u32,
    /// The maximum of the limit, in bytes.
    pub max_limit: u32,
    /// Time for which slack is observed before the limit decreases, in ns.
    pub hold_time_ns: u64,
    /// `false` if no queue exists below the socket. Packets are then released while
    /// `program_bytes` is below 256 KiB.
    pub limit_applies: bool,
    /// Bytes that were released and not yet sent, with the overhead.
    pub program_bytes: u32,
    /// Bytes that were sent and have not departed, with the overhead.
    pub kernel_bytes: u32,
    /// Packets that wait in the discipline.
    pub backlog: Backlog,
    /// The current stall of the kernel.
    pub stall: Option<KernelStall>,
    /// The counters of the path.
    pub counters: PathCounters,
    /// The counters of the discipline.
    pub queue: QueueCounters,
}
