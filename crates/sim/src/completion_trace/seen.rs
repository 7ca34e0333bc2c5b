//! What is seen of a run.

use hdrhistogram::Histogram;

use crate::testbed::{Book, Losses};
use taut_measure::meter::histogram_bytes;

/// Looks at the queue at random moments.
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

    pub(super) fn look(&mut self, unsent_bytes: u64, in_flight_bytes: u64) {
        self.count += 1;
        self.unsent_bytes.saturating_record(unsent_bytes);
        self.in_flight_bytes.saturating_record(in_flight_bytes);
    }
}

/// What was seen of a run. Bytes are those of all queues together.
#[derive(Debug, Clone, Default)]
pub struct TraceReport {
    /// Mean of the bytes in the ring whose packet has not left whole: what a rule is judged by.
    pub mean_bytes: f64,
    /// Their median and 99th percentile.
    pub p50_bytes: u64,
    /// The 99th percentile.
    pub p99_bytes: u64,
    /// Mean of queued minus reported, which also holds what has left and nobody was told of.
    pub in_flight_mean_bytes: f64,
    /// Its 99th percentile.
    pub in_flight_p99_bytes: u64,
    /// Share of the time in which something was to be sent that the wire was busy.
    pub utilisation: f64,
    /// Link time for which the wire was dry while something waited, in ns.
    pub dry_ns: u64,
    /// The same before the measured time: while the rule learned.
    pub learning_dry_ns: u64,
    /// What a new packet of high priority would wait before it has the wire: median, in ns.
    pub urgent_delay_p50_ns: u64,
    /// 99th percentile, in ns.
    pub urgent_delay_p99_ns: u64,
    /// The limit at the end, in bytes.
    pub limit_bytes: u64,
    /// Rounds after which nothing was in flight while the limit held the sender back.
    pub starved_rounds: u64,
    /// What was lost and what was sent since the start, for runs that keep the course.
    pub losses: Losses,
    /// The first queue's limit: (ns, bytes), each change.
    pub course: Vec<(u64, u32)>,
    /// Packets given to the device,
    pub sent_packets: u64,
    /// that came back,
    pub freed_packets: u64,
    /// and that are still there.
    pub in_ring_packets: u64,
}

impl TraceReport {
    pub(super) fn new(
        book: &Book,
        measured_ns: u64,
        samples: &Samples,
        urgent_delay_ns: &Histogram<u64>,
    ) -> Self {
        let mean = |byte_ns: u128| byte_ns as f64 / measured_ns.max(1) as f64;
        let (unsent_byte_ns, in_flight_byte_ns) = book.byte_ns();
        let wanted_ns = book.busy_ns() + book.dry_ns();
        Self {
            mean_bytes: mean(unsent_byte_ns),
            p50_bytes: samples.unsent_bytes.value_at_quantile(0.5),
            p99_bytes: samples.unsent_bytes.value_at_quantile(0.99),
            in_flight_mean_bytes: mean(in_flight_byte_ns),
            in_flight_p99_bytes: samples.in_flight_bytes.value_at_quantile(0.99),
            // Nothing to send is nothing lost.
            utilisation: if wanted_ns == 0 {
                1.0
            } else {
                book.busy_ns() as f64 / wanted_ns as f64
            },
            dry_ns: book.dry_ns(),
            learning_dry_ns: book.dry_before_ns(),
            urgent_delay_p50_ns: urgent_delay_ns.value_at_quantile(0.5),
            urgent_delay_p99_ns: urgent_delay_ns.value_at_quantile(0.99),
            ..Self::default()
        }
    }
}
