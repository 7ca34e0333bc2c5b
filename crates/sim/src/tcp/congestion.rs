//! The congestion window, and what a rule that moves it is asked.

use super::config::TcpConfig;

/// RFC 7323, 2.3: no window is larger than 1 GiB. Products of two windows stay inside a `u64`.
const MOST_BYTES: u64 = 1 << 30;

/// The window and the threshold between its two ways to grow, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub cwnd_bytes: u64,
    pub ssthresh_bytes: u64,
    pub mss_bytes: u64,
}

/// The same as a sender keeps it, in half a word each.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortWindow {
    cwnd_bytes: u32,
    /// RFC 5681, 3.1: `HIGH`, so that the network says where slow start ends.
    ssthresh_bytes: u32,
}

/// Arbitrarily high.
const HIGH: u32 = u32::MAX;

impl ShortWindow {
    pub fn new(config: &TcpConfig) -> Self {
        let initial = u64::from(config.initial_window_segments) * u64::from(config.mss_bytes);
        Self {
            cwnd_bytes: initial.min(MOST_BYTES) as u32,
            ssthresh_bytes: HIGH,
        }
    }

    #[inline]
    pub fn cwnd_bytes(self) -> u64 {
        self.cwnd_bytes.into()
    }

    pub fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd_bytes = bytes.min(MOST_BYTES) as u32;
    }

    /// `u64::MAX` if it is arbitrarily high.
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

    /// RFC 3465 with `most_bytes` of two segments: the window doubles in a round trip although only
    /// every second segment is acknowledged, and one acknowledgement never lets out more than two
    /// segments beyond those it covers.
    #[inline]
    pub fn grow_in_slow_start(&mut self, acked_bytes: u64, most_bytes: u64) {
        let grown = self.cwnd_bytes() + acked_bytes.min(most_bytes);
        self.set_cwnd(grown);
    }

    /// For a rule, which moves it by `moves`.
    pub fn moved<T>(&mut self, mss_bytes: u64, moves: impl FnOnce(&mut Window) -> T) -> T {
        let mut window = self.long(mss_bytes);
        let told = moves(&mut window);
        self.set_cwnd(window.cwnd_bytes);
        self.ssthresh_bytes = u32::try_from(window.ssthresh_bytes).unwrap_or(HIGH);
        told
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
        self.cwnd_bytes = self.cwnd_bytes.saturating_add(bytes).min(MOST_BYTES);
    }

    /// RFC 5681, (4) and RFC 9438, 4.6: never below two segments.
    pub fn reduce_to(&mut self, bytes: u64) {
        self.ssthresh_bytes = bytes.max(2 * self.mss_bytes);
        self.cwnd_bytes = self.ssthresh_bytes;
    }
}

/// A rule that moves the window after slow start, which is the same for all.
pub(super) trait CongestionControl {
    /// `acked_bytes` (at least 1) are new, the window was full, and slow start is over: it may
    /// grow.
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u64, srtt_ns: u64, now_ns: u64);

    /// Until now something else than the window was the limit, and it stays.
    fn on_unused(&mut self, now_ns: u64);

    /// Loss was found by its acknowledgements, or a mark was: once for each window.
    fn on_congestion(&mut self, window: &mut Window, flight_bytes: u64);

    /// The retransmission timer ran out for the first time for this segment. The caller sets the
    /// window itself to one segment.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64);
}
