//! Round-trip time and retransmission timeout, RFC 6298.
//!
//! Times one segment of a window at a time, and never a retransmitted one (Karn). The ends need no
//! timestamps for this, and the sample is the same.

use super::config::TcpConfig;

/// The timeout before the first RTT sample (rule 2.1).
const INITIAL_RTO_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct RoundTrip {
    /// The smoothed round trip, in ns; 0 before the first sample.
    pub smoothed_ns: u64,
    variation_ns: u64,
    /// The timeout with its back-off, in ns.
    pub timeout_ns: u64,
    /// Offset after the last byte of the timed segment; 0 for none.
    pub timed_end: u64,
    timed_sent_ns: u64,
}

impl RoundTrip {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            smoothed_ns: 0,
            variation_ns: 0,
            timeout_ns: INITIAL_RTO_NS.min(config.max_rto_ns),
            timed_end: 0,
            timed_sent_ns: 0,
        }
    }

    /// Doubles the timeout (rule 5.5). Only the next sample resets it, as noted in rule 5.7.
    pub fn back_off(&mut self, config: &TcpConfig) {
        self.timeout_ns = self.timeout_ns.saturating_mul(2).min(config.max_rto_ns);
    }

    #[inline]
    pub fn on_new_segment(&mut self, end: u64, now_ns: u64) {
        if self.timed_end == 0 {
            self.timed_end = end;
            self.timed_sent_ns = now_ns;
        }
    }

    /// Karn's rule: retransmitted data gives no RTT sample.
    pub fn on_retransmission(&mut self, start: u64, end: u64) {
        if start < self.timed_end && self.timed_end <= end {
            self.timed_end = 0;
        }
    }

    /// Processes the arrival of `[start, end)`.
    #[inline]
    pub fn on_arrived(&mut self, start: u64, end: u64, config: &TcpConfig, now_ns: u64) {
        if start < self.timed_end && self.timed_end <= end {
            self.timed_end = 0;
            self.sample(now_ns.saturating_sub(self.timed_sent_ns).max(1), config);
        }
    }

    /// Updates the estimate: section 2, with alpha = 1/8 and beta = 1/4.
    fn sample(&mut self, rtt_ns: u64, config: &TcpConfig) {
        // Clamps samples that are longer than any timer.
        let rtt_ns = rtt_ns.min(1 << 50);
        if self.smoothed_ns == 0 {
            self.smoothed_ns = rtt_ns;
            self.variation_ns = rtt_ns / 2;
        } else {
            let error_ns = self.smoothed_ns.abs_diff(rtt_ns);
            self.variation_ns = (3 * self.variation_ns + error_ns) / 4;
            self.smoothed_ns = ((7 * self.smoothed_ns + rtt_ns) / 8).max(1);
        }
        // At least the clock's granularity, 1 ns, is added.
        let timeout_ns = self.smoothed_ns + (4 * self.variation_ns).max(1);
        self.timeout_ns = timeout_ns.clamp(config.min_rto_ns, config.max_rto_ns);
    }
}
