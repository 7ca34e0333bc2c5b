//! The pacing rate of a sender, and the resulting size of its GSO packets.

use super::config::{GsoSize, TcpConfig};
use super::congestion::Window;

/// Autosizing: one packet is the data that the rate sends in this time.
const AUTO_TIME_NS: u64 = 1_000_000;
/// At least two segments, so that each packet triggers a delayed acknowledgement.
const AUTO_MIN_SEGMENTS: u64 = 2;
/// The largest IP packet.
const MAX_BYTES: u64 = 65_536;
/// Two GSO packets must fit in the window: with one, the wire is idle until its acknowledgement
/// arrives.
const PACKETS_IN_WINDOW: u64 = 2;

/// The pacing rate, in percent of window / smoothed round trip. In slow start, the window doubles
/// in one round trip, and the sender must be able to follow. Afterwards, the rate is a little above
/// that of the acknowledgements, so that the window, and not the pace, is the limit.
const SLOW_START_PERCENT: u64 = 200;
const LATER_PERCENT: u64 = 120;

/// Returns the bytes that the pacing rate sends in `time_ns`; 0 before the first RTT sample.
pub(super) fn bytes_in(window: &Window, srtt_ns: u64, time_ns: u64) -> u64 {
    let percent = match window.in_slow_start() {
        true => SLOW_START_PERCENT,
        false => LATER_PERCENT,
    };
    let bytes = u128::from(window.cwnd_bytes) * u128::from(percent) * u128::from(time_ns);
    let bytes = bytes.checked_div(100 * u128::from(srtt_ns)).unwrap_or(0);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the payload of a full packet: whole segments, at least one, otherwise at most
/// `max_bytes`.
pub(super) fn packet_bytes(
    config: &TcpConfig,
    window: &Window,
    srtt_ns: u64,
    max_bytes: u64,
) -> u64 {
    let mss = window.mss_bytes;
    let bytes = match config.gso_size {
        GsoSize::Off => return mss,
        GsoSize::Fixed(bytes) => u64::from(bytes),
        GsoSize::Auto => bytes_in(window, srtt_ns, AUTO_TIME_NS)
            .max(AUTO_MIN_SEGMENTS * mss)
            .min(MAX_BYTES),
    };
    (bytes.min(max_bytes) / mss).max(1) * mss
}

/// Returns the minimum size of a shortened full packet while data is in flight. Acknowledgements
/// free two segments at a time, and packets must not shrink to that.
pub(super) fn min_bytes(packet_bytes: u64, window_bytes: u64, mss_bytes: u64) -> u64 {
    let share = window_bytes / PACKETS_IN_WINDOW / mss_bytes * mss_bytes;
    packet_bytes.min(share.max(mss_bytes))
}
