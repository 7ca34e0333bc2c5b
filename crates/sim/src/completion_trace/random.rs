//! Random numbers of the published traces, bit for bit: every machine creates the same traces.

use core::f64::consts::PI;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;

/// splitmix64 from a hashed seed. Without the hash, every seed would be a shifted copy of one
/// stream.
#[derive(Debug, Clone)]
pub struct SplitMix(SplitMix64);

impl SplitMix {
    /// Creates the generator of `seed`.
    pub fn new(seed: u64) -> Self {
        let hashed = seed
            .wrapping_mul(0xD6E8_FEB8_6659_FD93)
            .wrapping_add(0x0123_4567);
        let mut stream = SplitMix64::seed_from_u64(hashed);
        let (first, second) = (stream.next_u64(), stream.next_u64());
        let mut mixed = SplitMix64::seed_from_u64(first ^ (second << 1));
        Self(SplitMix64::seed_from_u64(mixed.next_u64()))
    }

    /// Returns 64 random bits.
    #[allow(
        clippy::should_implement_trait,
        reason = "an endless generator is not an iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in 0..1.
    pub fn even(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniform number in `low..high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.even()
    }

    /// Returns an exponentially distributed number.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.even())
    }

    /// Returns a normally distributed number with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.even()));
        radius * libm::cos(2.0 * PI * self.even())
    }

    /// Returns a Weibull-distributed number with this shape and scale.
    pub fn weibull(&mut self, shape: f64, scale: f64) -> f64 {
        scale * libm::pow(self.exponential(1.0), 1.0 / shape)
    }

    /// Returns `true` with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.even() < probability
    }
}
