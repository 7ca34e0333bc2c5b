//! Results of a trace run.

/// Results of a trace run. Bytes are summed over all queues.
#[derive(Debug, Clone, Default)]
pub struct TraceReport {
    /// Mean bytes in the ring of packets that have not left completely. Rules are compared by this.
    pub mean_bytes: f64,
    /// Median of these bytes.
    pub p50_bytes: u64,
    /// 99th percentile of these bytes.
    pub p99_bytes: u64,
    /// Mean of queued minus reported bytes. Includes bytes that left and are not yet reported.
    pub in_flight_mean_bytes: f64,
    /// 99th percentile of queued minus reported bytes.
    pub in_flight_p99_bytes: u64,
    /// Share of the time with packets to send in which the wire was busy.
    pub utilisation: f64,
    /// Link time in which the wire was dry with packets queued, in ns.
    pub dry_ns: u64,
    /// Dry time during the warm-up, in ns.
    pub learning_dry_ns: u64,
    /// Delay of a new packet of high priority before the wire starts it: median, in ns.
    pub urgent_delay_p50_ns: u64,
    /// 99th percentile of this delay, in ns.
    pub urgent_delay_p99_ns: u64,
    /// The limit at the end, in bytes.
    pub limit_bytes: u64,
    /// The dry time of the wire with packets queued, and the total time with packets, from the
    /// start to the end of each [`LOSS_STEP_NS`](super::LOSS_STEP_NS), in ns; empty without the
    /// time series.
    pub losses: Vec<(u64, u64)>,
    /// Each change of the first queue's limit: (ns, bytes).
    pub limit_changes: Vec<(u64, u32)>,
    /// Stops of the queues because of a full ring, in the measured time.
    pub ring_stops: u64,
    /// Packets submitted to the device.
    pub sent_packets: u64,
    /// Packets completed.
    pub freed_packets: u64,
    /// Packets still in the rings.
    pub in_ring_packets: u64,
}
