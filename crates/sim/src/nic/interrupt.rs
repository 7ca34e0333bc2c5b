//! Interrupt moderation of a NIC.

use crate::rng::Rng;

/// An interrupt fires when a packet is finished and a period has passed since the last interrupt,
/// or when a given number of packets is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptRule {
    /// Time between interrupts under load, in ns; 0 interrupts for each packet.
    pub period_ns: u64,
    /// Finished packets that trigger an interrupt at once; `None` for no such threshold.
    pub packets: Option<u32>,
    /// Each period varies by up to this time in both directions, in ns, uniformly.
    pub jitter_ns: u64,
    /// Occasional much longer periods.
    pub rare_gap: Option<RareGap>,
}

/// A rare long period between two interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RareGap {
    /// Mean number of periods per long period; at least 1.
    pub one_in: u32,
    /// Its length, in ns.
    pub gap_ns: u64,
}

impl InterruptRule {
    /// Returns a constant period without jitter.
    pub const fn every(period_ns: u64) -> Self {
        Self {
            period_ns,
            packets: None,
            jitter_ns: 0,
            rare_gap: None,
        }
    }
}

/// Generates the periods of an [`InterruptRule`].
#[derive(Debug)]
pub(super) struct Periods {
    pub(super) rule: InterruptRule,
    rng: Rng,
}

impl Periods {
    pub(super) fn new(rule: InterruptRule, seed: u64) -> Self {
        Self {
            rule,
            rng: Rng::new(seed),
        }
    }

    #[inline]
    pub(super) fn next_ns(&mut self) -> u64 {
        if self.rule.jitter_ns == 0 && self.rule.rare_gap.is_none() {
            return self.rule.period_ns;
        }
        self.draw_ns()
    }

    fn draw_ns(&mut self) -> u64 {
        if let Some(RareGap { one_in, gap_ns }) = self.rule.rare_gap
            && self.rng.below(u64::from(one_in.max(1))) == 0
        {
            return gap_ns;
        }
        match self.rule.jitter_ns {
            0 => self.rule.period_ns,
            jitter_ns => self.rng.near(self.rule.period_ns, jitter_ns),
        }
    }
}
