//! One queue above an emulated NIC, for the scenarios with a single queue.

use taut_path::units::Rate;
use taut_sim::nic::{Framing, InterruptRule, NicConfig};
use taut_sim::single_queue_bench::SingleQueueConfig;

/// Link time of a frame beyond its bytes, in bytes: preamble, check sequence and gap.
pub(crate) const LINK_OVERHEAD_BYTES: u32 = Framing::ETHERNET.overhead_bytes;

/// Ethernet on which the size of a frame includes `counted_bytes` of the link's overhead.
pub(crate) const fn counted_with(counted_bytes: u32) -> Framing {
    Framing {
        min_frame_bytes: Framing::ETHERNET.min_frame_bytes + counted_bytes,
        overhead_bytes: LINK_OVERHEAD_BYTES - counted_bytes,
    }
}

/// A saturated queue with one object size.
pub(crate) fn saturated(
    rate: Rate,
    ring: u32,
    object_bytes: u32,
    interrupt: InterruptRule,
    seed: u64,
) -> SingleQueueConfig {
    let nic = NicConfig {
        framing: Framing::ETHERNET,
        interrupt,
        seed,
        ..NicConfig::plain(rate.0, ring)
    };
    SingleQueueConfig::saturated(nic, object_bytes)
}

/// Returns twice the bytes that the link sends in one interval, at least two objects. With Linux's
/// rule, a saturated queue converges to a limit between this and two objects more.
pub(crate) fn law_bytes(config: &SingleQueueConfig, interval_ns: u64) -> f64 {
    let bytes = config.object_bytes.first().copied().unwrap_or(0);
    let object = taut_sim::single_queue_bench::object(0, bytes);
    let time_bytes = config.nic.framing.packet_time(&object).bytes;
    let _ = object.into_frame();
    let object_ns = time_bytes as f64 * 8e9 / config.nic.rate_bits_per_s.max(1) as f64;
    2.0 * f64::from(bytes) * (interval_ns as f64 / object_ns).max(1.0)
}
