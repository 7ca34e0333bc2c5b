//! The congestion window.

use super::config::TcpConfig;

/// RFC 7323, 2.3: no window is larger than 1 GiB. Products of two windows stay inside a `u64`.
const MAX_BYTES: u64 = 1 << 30;

/// The window and the slow-start threshold, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub cwnd_bytes: u64,
    /// RFC 5681, 3.1: starts arbitrarily high, so that the network determines the end of slow
    /// start.
    pub ssthresh_bytes: u64,
    pub mss_bytes: u64,
}

impl Window {
    pub fn new(config: &TcpConfig) -> Self {
        let mss_bytes = u64::from(config.mss_bytes);
        let initial_bytes = u64::from(config.initial_window_segments) * mss_bytes;
        Self {
            cwnd_bytes: initial_bytes.min(MAX_BYTES),
            ssthresh_bytes: u64::MAX,
            mss_bytes,
        }
    }

    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd_bytes < self.ssthresh_bytes
    }

    #[inline]
    pub fn grow(&mut self, bytes: u64) {
        self.cwnd_bytes = self.cwnd_bytes.saturating_add(bytes).min(MAX_BYTES);
    }

    /// Reduces the window, to at least two segments (RFC 5681, (4) and RFC 9438, 4.6).
    pub fn reduce_to(&mut self, bytes: u64) {
        self.ssthresh_bytes = bytes.max(2 * self.mss_bytes);
        self.cwnd_bytes = self.ssthresh_bytes;
    }
}
