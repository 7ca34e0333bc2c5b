//! The congestion window, and the interface of congestion control algorithms.

use super::config::TcpConfig;

/// RFC 7323, 2.3: no window is larger than 1 GiB. Products of two windows stay inside a `u64`.
const MAX_BYTES: u64 = 1 << 30;

/// The window and the slow-start threshold, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub cwnd_bytes: u64,
    pub ssthresh_bytes: u64,
    pub mss_bytes: u64,
}

/// The window in the compact form that a sender stores.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortWindow {
    cwnd_bytes: u32,
    /// RFC 5681, 3.1: starts at `HIGH`, so that the network determines the end of slow start.
    ssthresh_bytes: u32,
}

/// Arbitrarily high (RFC 5681, 3.1).
const HIGH: u32 = u32::MAX;

impl ShortWindow {
    pub fn new(config: &TcpConfig) -> Self {
        let initial = u64::from(config.initial_window_segments) * u64::from(config.mss_bytes);
        Self {
            cwnd_bytes: initial.min(MAX_BYTES) as u32,
            ssthresh_bytes: HIGH,
        }
    }

    #[inline]
    pub fn cwnd_bytes(self) -> u64 {
        self.cwnd_bytes.into()
    }

    pub fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd_bytes = bytes.min(MAX_BYTES) as u32;
    }

    /// Returns the threshold, in bytes; `u64::MAX` before the first reduction.
    pub fn ssthresh_bytes(self) -> u64 {
        match self.ssthresh_bytes {
            HIGH => u64::MAX,
            bytes => bytes.into(),
        }
    }

    #[inline]
    pub fn in_slow_start(self) -> bool {
        self.cwnd_bytes < self.ssthresh_bytes
    }

    /// Grows the window in slow start. With `max_bytes` of two segments (RFC 3465), the window
    /// doubles in a round trip although only every second segment is acknowledged. One
    /// acknowledgement never releases more than two segments beyond those it covers.
    #[inline]
    pub fn grow_in_slow_start(&mut self, acked_bytes: u64, max_bytes: u64) {
        let grown = self.cwnd_bytes() + acked_bytes.min(max_bytes);
        self.set_cwnd(grown);
    }

    /// Applies `moves` to the unpacked window.
    pub fn moved<T>(&mut self, mss_bytes: u64, moves: impl FnOnce(&mut Window) -> T) -> T {
        let mut window = self.long(mss_bytes);
        let result = moves(&mut window);
        self.set_cwnd(window.cwnd_bytes);
        self.ssthresh_bytes = u32::try_from(window.ssthresh_bytes).unwrap_or(HIGH);
        result
    }

    pub fn long(self, mss_bytes: u64) -> Window {
        Window {
            cwnd_bytes: self.cwnd_bytes(),
            ssthresh_bytes: self.ssthresh_bytes(),
            mss_bytes,
        }
    }
}

impl Window {
    pub fn in_slow_start(&self) -> bool {
        self.cwnd_bytes < self.ssthresh_bytes
    }

    pub fn grow(&mut self, bytes: u64) {
        self.cwnd_bytes = self.cwnd_bytes.saturating_add(bytes).min(MAX_BYTES);
    }

    /// Reduces the window, to at least two segments (RFC 5681, (4) and RFC 9438, 4.6).
    pub fn reduce_to(&mut self, bytes: u64) {
        self.ssthresh_bytes = bytes.max(2 * self.mss_bytes);
        self.cwnd_bytes = self.ssthresh_bytes;
    }
}

/// A congestion control algorithm; slow start is common to all.
pub(super) trait CongestionControl {
    /// Called after slow start when `acked_bytes` (at least 1) are newly acknowledged and the
    /// window was full.
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u64, srtt_ns: u64, now_ns: u64);

    /// Called when something other than the window limited the sender until now.
    fn on_unused(&mut self, now_ns: u64);

    /// Called once per window after a loss found by acknowledgements, or after a mark.
    fn on_congestion(&mut self, window: &mut Window, flight_bytes: u64);

    /// Called after the first timeout of a segment. The caller sets the window to one segment.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64);
}
