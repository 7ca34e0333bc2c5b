//! What the scenarios on one queue share: a NIC, the counting of the slides, and the law.

use taut_path::units::Rate;
use taut_report::document::Series;
use taut_sim::lane::{Course, LaneConfig};
use taut_sim::nic::{Framing, InterruptRule, NicConfig};

/// How a minimal frame of 60 bytes is counted on the published slides: the check sequence and two
/// more bytes.
pub(super) const MINIMAL_FRAME_BYTES: u32 = 60;
pub(super) const MINIMAL_COUNTED_BYTES: u32 = 66;

/// Ethernet on which frames are counted with `extra_bytes` that the link does not see again.
pub(super) const fn counted_with(extra_bytes: u32) -> Framing {
    Framing {
        min_frame_bytes: Framing::ETHERNET.min_frame_bytes + extra_bytes,
        overhead_bytes: Framing::ETHERNET.overhead_bytes - extra_bytes,
    }
}

/// A saturated lane: one object size, interrupts as `interrupt` says.
pub(super) fn saturated(
    rate: Rate,
    ring: u32,
    object_bytes: u32,
    interrupt: InterruptRule,
    seed: u64,
) -> LaneConfig {
    let nic = NicConfig {
        framing: Framing::ETHERNET,
        interrupt,
        seed,
        ..NicConfig::plain(rate.0, ring)
    };
    LaneConfig::saturated(nic, object_bytes)
}

/// 2RT, in bytes as they are counted: twice what the link takes in one interval, and never less
/// than two objects. A saturated queue settles between this and two objects more.
pub(super) fn law_bytes(config: &LaneConfig, cadence_ns: u64) -> f64 {
    let bytes = config.object_bytes.first().copied().unwrap_or(0);
    let object = taut_sim::lane::object(0, bytes);
    let time_bytes = config.nic.framing.packet_time(&object).bytes;
    let _ = object.into_frame();
    let object_ns = time_bytes as f64 * 8e9 / config.nic.rate_bits_per_s.max(1) as f64;
    2.0 * f64::from(bytes) * (cadence_ns as f64 / object_ns).max(1.0)
}

/// The limit and what was in flight, over the time from `from_ns` on.
pub(super) fn series(row: &str, course: &Course, from_ns: u64) -> [Series; 2] {
    let limit = course.limit_bytes.iter();
    let limit = limit.map(|&(at_ns, bytes)| (at_ns, f64::from(bytes)));
    let in_flight = course.in_flight.iter().enumerate();
    let in_flight =
        in_flight.map(|(index, step)| (index as u64 * course.step_ns, step.peak_bytes as f64));
    let late = |&(at_ns, _): &(u64, f64)| at_ns >= from_ns;
    [
        Series::bytes(row, "limit", limit.filter(late)),
        Series::bytes(row, "in flight", in_flight.filter(late)),
    ]
}
