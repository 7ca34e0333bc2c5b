//! The congestion window, the pacing rate, and the resulting size of GSO packets.

use super::config::{GsoSize, TcpConfig};

/// RFC 7323, 2.3: no window is larger than 1 GiB. Products of two windows stay inside a `u64`.
const MAX_BYTES: u64 = 1 << 30;

/// Autosizing: one packet is the data that the rate sends in this time.
const AUTO_TIME_NS: u64 = 1_000_000;
/// At least two segments, so that each packet triggers a delayed acknowledgement.
const AUTO_MIN_SEGMENTS: u64 = 2;
/// The largest IP packet.
const MAX_PACKET_BYTES: u64 = 65_536;
/// Two GSO packets must fit in the window: with one, the wire is idle until its acknowledgement
/// arrives.
const PACKETS_IN_WINDOW: u64 = 2;

/// The pacing rate, in percent of window / smoothed round trip. In slow start, the window doubles
/// in one round trip, and the sender must be able to follow. Afterwards, the rate is a little above
/// that of the acknowledgements, so that the window, and not the pace, is the limit.
const SLOW_START_PERCENT: u64 = 200;
const LATER_PERCENT: u64 = 120;

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

    /// Returns the bytes that the pacing rate sends in `time_ns`; 0 before the first RTT sample.
    pub fn bytes_in(&self, srtt_ns: u64, time_ns: u64) -> u64 {
        let percent = match self.in_slow_start() {
            true => SLOW_START_PERCENT,
            false => LATER_PERCENT,
        };
        let bytes = u128::from(self.cwnd_bytes) * u128::from(percent) * u128::from(time_ns);
        let bytes = bytes.checked_div(100 * u128::from(srtt_ns)).unwrap_or(0);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Returns the payload of a full packet: whole segments, at least one, otherwise at most
    /// `max_bytes`.
    #[inline]
    pub fn packet_bytes(&self, gso_size: GsoSize, srtt_ns: u64, max_bytes: u64) -> u64 {
        let mss = self.mss_bytes;
        let bytes = match gso_size {
            GsoSize::Off => return mss,
            GsoSize::Fixed(bytes) => u64::from(bytes),
            GsoSize::Auto => self
                .bytes_in(srtt_ns, AUTO_TIME_NS)
                .max(AUTO_MIN_SEGMENTS * mss)
                .min(MAX_PACKET_BYTES),
        };
        (bytes.min(max_bytes) / mss).max(1) * mss
    }

    /// Returns the minimum size of a shortened full packet while data is in flight, if the peer
    /// offers `offered_bytes`. Acknowledgements free two segments at a time, and packets must not
    /// shrink to that.
    pub fn min_packet_bytes(&self, packet_bytes: u64, offered_bytes: u64) -> u64 {
        let mss = self.mss_bytes;
        let window_bytes = self.cwnd_bytes.min(offered_bytes);
        let share = window_bytes / PACKETS_IN_WINDOW / mss * mss;
        packet_bytes.min(share.max(mss))
    }
}
