//! Search for the smallest fixed limit that is nearly as good as the best one.

use taut_path::AnyLimit;

use super::{ConsumerConfig, observe};
use crate::error::TestbedError;

/// Packets of a run that measures one limit: hundreds of polls. All cycles are equal except where
/// sender and consumer overlap, so this is exact to a ten-thousandth.
const PACKETS: u64 = 16_384;

/// Throughput of fixed limits, in packets/s; the first is a limit of 0.
#[derive(Debug, Clone)]
pub struct FixedLimits {
    packets_per_s: Vec<f64>,
}

impl FixedLimits {
    /// Measures every limit below the ring size; a limit as large as the ring has no effect.
    ///
    /// # Errors
    /// Returns the errors of [`observe`].
    pub fn new(config: &ConsumerConfig) -> Result<Self, TestbedError> {
        config.check()?;
        let of_limit = |limit: u32| {
            // With a limit of 0, each packet takes the sum of these times.
            let longest_ns = config.consumer_ns
                + config.sender_ns
                + 2 * (config.switch_ns + config.wake_ns)
                + config.notify.longest_ns();
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

    /// Returns the throughput of the best limit, in packets/s.
    pub fn best(&self) -> f64 {
        self.packets_per_s.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the smallest limit, in packets, that reaches `share` of that throughput.
    pub fn smallest(&self, share: f64) -> u32 {
        let enough = self.best() * share;
        let smallest = self.packets_per_s.iter().position(|&it| it >= enough);
        smallest.map_or(0, |limit| limit as u32)
    }
}
