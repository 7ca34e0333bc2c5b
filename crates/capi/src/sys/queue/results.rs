//! Results of the calls of a queue.

/// Why a run stopped.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// No packet waits.
    Idle = 0,
    /// The limit has no room: run again when `taut_queue_complete` reports it.
    Limit = 1,
    /// The ring is full: run again when `taut_queue_complete` reports it.
    RingFull = 2,
    /// The first packet is ready at a later time: run again then.
    NotReady = 3,
    /// The doorbell failed; run again after a moment. `taut_queue_driver_error` returns the error
    /// number of the driver.
    Failed = 4,
    /// The queue is null, was freed, or is in a call already.
    Invalid = 5,
}

/// The result of a completion batch.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Completed {
    /// Packets completed, and their bytes.
    pub packets: u32,
    /// See `packets`.
    pub bytes: u32,
    /// Stale packets, sent before a reset: returned, but not counted.
    pub stale_packets: u32,
    /// The queue was stopped and is not any more: run it.
    pub schedule: bool,
    /// The driver returned the maximum of a batch, and might have more: complete again.
    pub more_pending: bool,
    /// A packet is in flight for longer than the threshold: repair the ring, then call
    /// `taut_queue_reset`.
    pub stalled: bool,
    /// Age of the oldest packet, in ns.
    pub stalled_ns: u64,
}

/// State and counters of a queue.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueStats {
    /// The limit, in its units; `TAUT_LIMIT_MAX` if it is `unlimited`.
    pub limit: u32,
    /// Submitted to the ring and not completed, in the limit's units.
    pub in_flight: u32,
    /// Backlog of the discipline in packets.
    pub backlog_packets: u64,
    /// Its bytes.
    pub backlog_bytes: u64,
    /// Packets submitted to the ring.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets completed.
    pub completed_packets: u64,
    /// Packets dropped, for any reason.
    pub dropped_packets: u64,
    /// Packets marked by the discipline.
    pub marked_packets: u64,
    /// Times that the limit stopped the queue.
    pub limit_stops: u64,
    /// Times that the ring stopped the queue.
    pub ring_stops: u64,
    /// Stalls.
    pub stalls: u64,
    /// Completions are early, before packets left the device: no limit applies then.
    pub early_completions: bool,
    /// No limit applies except the ring: the limit is "off", or completions are early.
    pub unlimited: bool,
}
