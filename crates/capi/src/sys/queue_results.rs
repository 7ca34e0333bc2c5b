//! What calls of a queue return.

/// Why a run stopped.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Nothing waits.
    Idle = 0,
    /// The limit has no room: run again when `taut_queue_complete` says so.
    Limit = 1,
    /// The ring is full: run again when `taut_queue_complete` says so.
    RingFull = 2,
    /// The first packet is ready at a later time: run again then.
    NotReady = 3,
    /// The doorbell failed; run again after a moment. `taut_queue_failure` has the driver's number.
    Failed = 4,
    /// There is no queue, or it was called from a callback of its own.
    Invalid = 5,
}

/// What a round of completions did.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Completed {
    /// Packets that the device is done with, and their bytes.
    pub packets: u32,
    /// See `packets`.
    pub bytes: u32,
    /// Packets of before a reset: given back, but not counted.
    pub late_packets: u32,
    /// The queue was stopped and is not any more: run it.
    pub run: bool,
    /// The driver handed back as many as a round may have, and may have more: complete again.
    pub more: bool,
    /// Something is in flight for longer than the threshold: repair the ring, then call
    /// `taut_queue_reset`.
    pub stalled: bool,
    /// For how long, in ns.
    pub stalled_ns: u64,
}

/// What a queue holds and did.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueFigures {
    /// How much may be in flight, in the limit's units.
    pub limit: u32,
    /// Given to the ring and not completed, in the limit's units.
    pub in_flight: u32,
    /// Waits in the discipline.
    pub waiting_packets: u64,
    /// Its bytes.
    pub waiting_bytes: u64,
    /// Given to the ring.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// The device is done with.
    pub completed_packets: u64,
    /// Dropped, for any reason.
    pub dropped_packets: u64,
    /// Marked by the discipline.
    pub marked_packets: u64,
    /// Times that the limit stopped the queue.
    pub limit_stops: u64,
    /// Times that the ring stopped the queue.
    pub ring_stops: u64,
    /// Stalls.
    pub stalls: u64,
    /// Completions do not mean that packets left the device: there is no limit then.
    pub completions_are_false: bool,
}
