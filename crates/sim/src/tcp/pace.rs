//! How fast a sender may send and, from that, how large its super-packets are.

use super::config::{Pacing, SuperPacket, TcpConfig};
use super::congestion::Window;

/// Autosizing: what the rate sends in this time is one packet.
const AUTO_TIME_NS: u64 = 1_000_000;
/// At least two, so that a delayed acknowledgement answers each packet.
const AUTO_LEAST_SEGMENTS: u64 = 2;
/// The largest IP packet.
const MOST_BYTES: u64 = 65_536;
/// Two super-packets must fit in the window: with one, the wire is silent while its
/// acknowledgement is on the way.
const PACKETS_IN_WINDOW: u64 = 2;

/// Percent of window / round trip that the sender may send.
fn percent(window: &Window, pacing: Option<Pacing>) -> u64 {
    let pacing = pacing.unwrap_or_default();
    let percent = if window.in_slow_start() {
        pacing.slow_start_percent
    } else {
        pacing.later_percent
    };
    u64::from(percent.max(1))
}

/// How long `bytes` take at the pacing rate, in ns; 0 before the first sample of the round trip.
pub(super) fn time_ns(window: &Window, pacing: Pacing, srtt_ns: u64, bytes: u64) -> u64 {
    let rate = u128::from(window.cwnd_bytes) * u128::from(percent(window, Some(pacing)));
    let time = u128::from(bytes) * u128::from(srtt_ns) * 100 / rate.max(1);
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// What the pacing rate sends in `time_ns`, in bytes; 0 before the first sample.
pub(super) fn bytes_in(window: &Window, pacing: Option<Pacing>, srtt_ns: u64, time_ns: u64) -> u64 {
    let bytes =
        u128::from(window.cwnd_bytes) * u128::from(percent(window, pacing)) * u128::from(time_ns)
            / (100 * u128::from(srtt_ns.max(1)));
    if srtt_ns == 0 {
        0
    } else {
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// The payload of a full packet now: whole segments, at least one, and else not above `most_bytes`.
pub(super) fn packet_bytes(
    config: &TcpConfig,
    window: &Window,
    srtt_ns: u64,
    most_bytes: u64,
) -> u64 {
    let mss = window.mss_bytes;
    let bytes = match config.super_packet {
        SuperPacket::Off => return mss,
        SuperPacket::Fixed(bytes) => u64::from(bytes),
        SuperPacket::Auto => bytes_in(window, config.pacing, srtt_ns, AUTO_TIME_NS)
            .max(AUTO_LEAST_SEGMENTS * mss)
            .min(MOST_BYTES),
    };
    (bytes.min(most_bytes) / mss).max(1) * mss
}

/// A full packet of `packet_bytes` may be cut to this, and not shorter, while something is on its
/// way: the room comes back two segments at a time, and packets must not shrink to that.
pub(super) fn least_bytes(packet_bytes: u64, window_bytes: u64, mss_bytes: u64) -> u64 {
    let share = window_bytes / PACKETS_IN_WINDOW / mss_bytes * mss_bytes;
    packet_bytes.min(share.max(mss_bytes))
}
