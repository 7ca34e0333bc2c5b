//! A seeded random number generator with the same output on every machine.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A random number generator.
#[derive(Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Creates the generator of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in 0..n; the bias of the wide multiplication is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Returns a uniform number from `mean - spread` to `mean + spread`, as far as it is in range.
    pub fn near(&mut self, mean: u64, spread: u64) -> u64 {
        let above = self.below(spread.saturating_mul(2).saturating_add(1));
        mean.saturating_add(above).saturating_sub(spread)
    }
}
