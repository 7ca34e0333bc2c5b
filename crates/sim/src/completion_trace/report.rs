//! Results of a trace run.

use hdrhistogram::Histogram;

use crate::testbed::{Losses, WireStats};
use taut_measure::meter::histogram_bytes;

/// Samples of the queue at random times.
pub(super) struct Samples {
    unsent_bytes: Histogram<u64>,
    in_flight_bytes: Histogram<u64>,
    count: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            unsent_bytes: histogram_bytes(),
            in_flight_bytes: histogram_bytes(),
            count: 0,
        }
    }
}

impl Samples {
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn record(&mut self, unsent_bytes: u64, in_flight_bytes: u64) {
        self.count += 1;
        self.unsent_bytes.saturating_record(unsent_bytes);
        self.in_flight_bytes.saturating_record(in_flight_bytes);
    }
}

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
    /// Completion batches after which nothing was in flight while the limit blocked the sender.
    pub starved_batches: u64,
    /// Losses and transmissions since the start, if the time series is recorded.
    pub losses: Losses,
    /// Each change of the first queue's limit: (ns, bytes).
    pub limit_changes: Vec<(u64, u32)>,
    /// Packets submitted to the device.
    pub sent_packets: u64,
    /// Packets completed.
    pub freed_packets: u64,
    /// Packets still in the rings.
    pub in_ring_packets: u64,
}

impl TraceReport {
    pub(super) fn new(
        wire_stats: &WireStats,
        measured_ns: u64,
        samples: &Samples,
        urgent_delay_ns: &Histogram<u64>,
    ) -> Self {
        let mean = |byte_ns: u128| byte_ns as f64 / measured_ns.max(1) as f64;
        let (unsent_byte_ns, in_flight_byte_ns) = wire_stats.byte_ns();
        let wanted_ns = wire_stats.busy_ns() + wire_stats.dry_ns();
        Self {
            mean_bytes: mean(unsent_byte_ns),
            p50_bytes: samples.unsent_bytes.value_at_quantile(0.5),
            p99_bytes: samples.unsent_bytes.value_at_quantile(0.99),
            in_flight_mean_bytes: mean(in_flight_byte_ns),
            in_flight_p99_bytes: samples.in_flight_bytes.value_at_quantile(0.99),
            // Nothing to send means no loss.
            utilisation: if wanted_ns == 0 {
                1.0
            } else {
                wire_stats.busy_ns() as f64 / wanted_ns as f64
            },
            dry_ns: wire_stats.dry_ns(),
            learning_dry_ns: wire_stats.dry_before_ns(),
            urgent_delay_p50_ns: urgent_delay_ns.value_at_quantile(0.5),
            urgent_delay_p99_ns: urgent_delay_ns.value_at_quantile(0.99),
            ..Self::default()
        }
    }
}
