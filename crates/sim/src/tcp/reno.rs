//! Reno, RFC 5681, with appropriate byte counting (RFC 3465). The window grows by one segment per
//! round trip, and shrinks to half the flight after a loss.

use super::congestion::{CongestionControl, Window};

#[derive(Debug, Default)]
pub(super) struct Reno {
    /// Bytes acknowledged since the window last grew.
    acked_bytes: u64,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u64, _srtt_ns: u64, _now_ns: u64) {
        self.acked_bytes += acked_bytes;
        if self.acked_bytes >= window.cwnd_bytes {
            // One segment at most, regardless of the bytes acknowledged at once.
            self.acked_bytes = (self.acked_bytes - window.cwnd_bytes).min(window.cwnd_bytes);
            window.grow(window.mss_bytes);
        }
    }

    fn on_unused(&mut self, _now_ns: u64) {}

    fn on_congestion(&mut self, window: &mut Window, flight_bytes: u64) {
        self.acked_bytes = 0;
        window.reduce_to(flight_bytes / 2);
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u64) {
        self.on_congestion(window, flight_bytes);
    }
}
