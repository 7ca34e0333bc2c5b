//! The congestion window, and the seam behind which each rule that moves it is a file of its own.

use super::config::{Congestion, TcpConfig};
use super::cubic::Cubic;
use super::reno::Reno;

/// RFC 7323, 2.3: no window is larger than 1 GiB. Products of two windows stay inside a `u64`.
const MOST_BYTES: u64 = 1 << 30;

/// The window and the threshold between its two ways to grow, in bytes.
#[derive(Debug)]
pub(super) struct Window {
    pub cwnd_bytes: u64,
    pub ssthresh_bytes: u64,
    pub mss_bytes: u64,
}

impl Window {
    fn new(config: &TcpConfig) -> Self {
        let mss_bytes = u64::from(config.mss_bytes);
        Self {
            cwnd_bytes: (u64::from(config.initial_window_segments) * mss_bytes).min(MOST_BYTES),
            // RFC 5681, 3.1: arbitrarily high, so that the network says where slow start ends.
            ssthresh_bytes: u64::MAX,
            mss_bytes,
        }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd_bytes < self.ssthresh_bytes
    }

    /// RFC 3465 with L = 2: the window doubles in a round trip although only every second segment
    /// is acknowledged, and one acknowledgement never lets out more than two segments beyond those
    /// it covers.
    pub fn grow_in_slow_start(&mut self, acked_bytes: u64) {
        self.grow(acked_bytes.min(2 * self.mss_bytes));
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

/// A rule that moves the window. To add one: a file, a variant here and one of [`Congestion`].
pub(super) trait CongestionControl {
    /// `acked_bytes` (at least 1) are new and the window was full: it may grow.
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u64, srtt_ns: u64, now_ns: u64);

    /// Until now something else than the window was the limit, and it stays.
    fn on_unused(&mut self, now_ns: u64);

    /// Loss was found by its acknowledgements, or a mark was: once for each window.
    fn on_congestion(&mut self, window: &mut Window, flight_bytes: u64);

    /// The retransmission timer ran out for the first time for this segment. The caller sets the
    /// window itself to one segment.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64);
}

#[derive(Debug)]
enum Rule {
    Cubic(Cubic),
    Reno(Reno),
}

/// The window together with its rule.
#[derive(Debug)]
pub(super) struct Controller {
    pub window: Window,
    rule: Rule,
}

impl Controller {
    pub fn new(config: &TcpConfig) -> Self {
        let rule = match config.congestion {
            Congestion::Cubic => Rule::Cubic(Cubic::default()),
            Congestion::Reno => Rule::Reno(Reno::default()),
        };
        Self {
            window: Window::new(config),
            rule,
        }
    }

    pub fn on_ack(&mut self, acked_bytes: u64, srtt_ns: u64, now_ns: u64) {
        let window = &mut self.window;
        match &mut self.rule {
            Rule::Cubic(rule) => rule.on_ack(window, acked_bytes, srtt_ns, now_ns),
            Rule::Reno(rule) => rule.on_ack(window, acked_bytes, srtt_ns, now_ns),
        }
    }

    pub fn on_unused(&mut self, now_ns: u64) {
        match &mut self.rule {
            Rule::Cubic(rule) => rule.on_unused(now_ns),
            Rule::Reno(rule) => rule.on_unused(now_ns),
        }
    }

    pub fn on_congestion(&mut self, flight_bytes: u64) {
        let window = &mut self.window;
        match &mut self.rule {
            Rule::Cubic(rule) => rule.on_congestion(window, flight_bytes),
            Rule::Reno(rule) => rule.on_congestion(window, flight_bytes),
        }
    }

    pub fn on_timeout(&mut self, flight_bytes: u64) {
        let window = &mut self.window;
        match &mut self.rule {
            Rule::Cubic(rule) => rule.on_timeout(window, flight_bytes),
            Rule::Reno(rule) => rule.on_timeout(window, flight_bytes),
        }
    }
}
