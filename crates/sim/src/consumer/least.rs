//! The least fixed limit that is nearly as good as the best one.

use taut_path::AnyLimit;

use super::{ConsumerConfig, observe};
use crate::error::TestbedError;

/// Packets of a run that finds what one limit gives: hundreds of polls. All rounds are alike but
/// where the two run side by side, so whole rounds say it to a ten-thousandth.
const PACKETS: u64 = 16_384;

/// What fixed limits give, in packets a second: the first is a limit of 0.
#[derive(Debug, Clone)]
pub struct FixedLimits {
    packets_per_s: Vec<f64>,
}

impl FixedLimits {
    /// Tries every limit below the ring; one as large as the ring is none.
    ///
    /// # Errors
    /// As [`observe`].
    pub fn new(config: &ConsumerConfig) -> Result<Self, TestbedError> {
        config.check()?;
        let of_limit = |limit: u32| {
            // With a limit of 0 each packet takes all of that.
            let longest_ns = config.consumer_ns
                + config.sender_ns
                + 2 * (config.switch_ns + config.wake_ns)
                + config.told.longest_ns();
            let config = ConsumerConfig {
                units: 1,
                ping_ns: 0,
                warm_ns: longest_ns * 1_000,
                end_ns: longest_ns * (1_000 + PACKETS),
                ..*config
            };
            Ok(observe(&config, AnyLimit::bytes(limit))?.packets_per_s)
        };
        let packets_per_s = (0..config.ring).map(of_limit);
        let packets_per_s = packets_per_s.collect::<Result<_, TestbedError>>()?;
        Ok(Self { packets_per_s })
    }

    /// What the best of them gives, in packets a second.
    pub fn best(&self) -> f64 {
        self.packets_per_s.iter().copied().fold(0.0, f64::max)
    }

    /// The least, in packets, that gives `share` of that.
    pub fn least(&self, share: f64) -> u32 {
        let enough = self.best() * share;
        let least = self.packets_per_s.iter().position(|&it| it >= enough);
        least.map_or(0, |limit| limit as u32)
    }
}
