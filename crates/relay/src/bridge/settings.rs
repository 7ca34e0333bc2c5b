//! Settings of the directions of a bridge.

use taut_linux::GsoFrames;
use taut_path::qdisc::{AnyQdisc, Qdisc, Shaped};
use taut_path::{AnyLimit, LateSegmentation};

use crate::parts::DirectionConfig;
use crate::source::BATCH_PACKETS;

/// Frames in addition to those of the backlog and the ring: a batch of GSO packets is segmented at
/// once.
const SPARE_FRAMES: u32 = BATCH_PACKETS * 46;
/// Frames for the backlog of a discipline without a limit.
const WAITING_PACKETS: u32 = 1_000;
/// Burst of a software shaper, in ns of link time.
const SHAPER_BURST_NS: u64 = 1_000_000;

/// Settings of each direction of a bridge.
#[derive(Debug, Clone)]
pub struct PathSettings {
    /// Queueing discipline, in the syntax of `tc`.
    pub qdisc: String,
    pub limit: AnyLimit,
    /// Rates of the shapers from the first interface to the second, and in the other direction.
    pub rates_bits_per_s: [Option<u64>; 2],
    pub ring_slots: u32,
    /// Coalescing interval of completions, in ns.
    pub coalesce_ns: u64,
    /// Stall threshold: after this time without a completion, the ring is reopened, in ns.
    pub stall_ns: u64,
    /// Forward although another process forwards the frames of an interface.
    pub is_forced: bool,
}

impl Default for PathSettings {
    fn default() -> Self {
        Self {
            qdisc: "fq_codel ecn".to_owned(),
            limit: AnyLimit::dql(),
            rates_bits_per_s: [None; 2],
            ring_slots: 1_024,
            coalesce_ns: 250_000,
            stall_ns: 2_000_000_000,
            is_forced: false,
        }
    }
}

impl PathSettings {
    /// Returns the GSO packets that are stored whole, in each direction. Without a limit, they are
    /// segmented on entry, because the rings accept no GSO packets.
    pub(super) fn gso_packets(&self) -> u32 {
        match self.limit.is_off() {
            true => 0,
            false => GsoFrames::MAX_GSO_FRAMES,
        }
    }

    /// Returns the maximum backlog of the discipline, for which frames must exist.
    fn waiting_packets(&self) -> u32 {
        let qdisc = self.qdisc.parse::<AnyQdisc>().ok();
        let max_packets = qdisc.and_then(|qdisc| qdisc.max_packets());
        max_packets.unwrap_or(WAITING_PACKETS)
    }

    /// Returns the frames of each interface.
    pub(super) fn frames(&self) -> u32 {
        self.waiting_packets() + self.ring_slots + SPARE_FRAMES
    }

    /// Returns the settings of the direction from one of the interfaces.
    pub(super) fn config(&self, from: usize) -> anyhow::Result<DirectionConfig> {
        let rate_bits_per_s = self.rates_bits_per_s[from];
        let inner: AnyQdisc = self.qdisc.parse()?;
        let qdisc = match rate_bits_per_s {
            Some(rate) => {
                let name = format!("{inner} behind a shaper");
                AnyQdisc::new(&name, Shaped::new(inner, rate, SHAPER_BURST_NS))
            }
            None => inner,
        };
        Ok(DirectionConfig {
            qdisc,
            limit: self.limit.clone(),
            split: LateSegmentation::Auto,
            coalesce_ns: self.coalesce_ns,
            stall_ns: self.stall_ns,
            rate_bits_per_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_suffice_for_a_full_discipline() {
        let waiting = |qdisc: &str| {
            let path = PathSettings {
                qdisc: qdisc.to_owned(),
                ..PathSettings::default()
            };
            path.waiting_packets()
        };
        assert_eq!(waiting("pfifo limit 50"), 50);
        assert_eq!(waiting("pfifo_fast limit 50"), 150);
        assert_eq!(waiting("pfifo_fast"), 3000);
        assert_eq!(waiting("fq_codel"), 10_240);
        assert_eq!(waiting("codel"), 1000);
        assert_eq!(waiting("pfifo limit 1000000"), 1_000_000);
    }
}
