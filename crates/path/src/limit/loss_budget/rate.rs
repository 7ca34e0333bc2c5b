//! The rate of the device: what it certainly sent in a time, over that time.

use super::balance::FRACTION_BITS;
use super::cycle::Sample;

/// Fraction bits of a rate in units a ns.
const RATE_BITS: u32 = 32;

/// 1 Tbit/s in bytes a ns. A higher rate is an error of a clock.
const MAX_RATE: u64 = 128 << RATE_BITS;

/// A higher rate holds for one to two of these times. Interrupts and senders that delay each other
/// take some 100 cycles to show the rate.
const HOLDS_NS: u64 = 125_000_000;

/// Cycles of an estimate. A new rate takes fewer at first.
const CYCLES: u32 = 8;

/// Units sent, and the time that this took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Throughput {
    pub units: u64,
    pub span_ns: u64,
}

impl Throughput {
    pub(super) fn add(&mut self, units: u64, span_ns: u64) {
        self.units += units;
        self.span_ns += span_ns;
    }

    pub(super) fn rate(self) -> u64 {
        let units = self.units.min(u32::MAX.into());
        ((units << RATE_BITS) / self.span_ns.max(1)).min(MAX_RATE)
    }
}

/// The samples of one estimate.
#[derive(Debug, Clone, Copy, Default)]
struct Samples {
    sent: Throughput,
    cycles: u32,
    partial_units: u32,
    has_long_pause: bool,
}

impl Samples {
    fn add(&mut self, sample: &Sample) {
        self.sent.add(sample.units, sample.span_ns);
        self.cycles += 1;
        self.partial_units = self.partial_units.max(sample.partial_units);
        self.has_long_pause |= sample.has_long_pause;
    }

    /// Returns `true` after `cycles`, if an object more or less is a small part of them.
    fn is_complete(&self, cycles: u32) -> bool {
        self.cycles >= cycles
            && self.sent.units >= u64::from(CYCLES) * u64::from(self.partial_units)
    }
}

/// The highest rate of a time.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    best: u64,
    estimates: u32,
    /// An estimate was of cycles in which the device was certainly busy.
    is_certain: bool,
}

/// The rate, from two windows.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate {
    /// 0 while it is unknown.
    rate: u64,
    /// Samples of all cycles, and of the certain ones.
    samples: [Samples; 2],
    /// Of all cycles, what was queued after the return, and the time from then.
    since_return: Throughput,
    window: Window,
    previous: u64,
    since_ns: u64,
    /// Estimates so far are a power of two of cycles long, up to [`CYCLES`].
    estimates: u32,
}

/// A completed estimate.
pub(super) struct Estimate {
    pub is_certain: bool,
    /// The sender was away for longer than a limit bridges, so the rate can be too low.
    pub has_long_pause: bool,
    pub sent: Throughput,
    /// An object that may have been sent in part.
    pub partial_units: u32,
    /// The rate fell: from the second to the first.
    pub fall: Option<(u64, u64)>,
}

impl Rate {
    pub(super) fn new(now_ns: u64) -> Self {
        Self {
            since_ns: now_ns,
            ..Self::default()
        }
    }

    /// In units a ns, with fraction bits; 0 while it is unknown.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    pub(super) fn units_per_s(&self) -> u64 {
        ((u128::from(self.rate) * 1_000_000_000) >> RATE_BITS) as u64
    }

    /// What the device sends in `span_ns`, with [`FRACTION_BITS`].
    pub(super) fn sends(&self, span_ns: u64) -> i64 {
        ((u128::from(self.rate) * u128::from(span_ns)) >> (RATE_BITS - FRACTION_BITS)) as i64
    }

    /// Drops the samples of an unfinished estimate.
    pub(super) fn restart_estimate(&mut self) {
        (self.samples, self.since_return) = Default::default();
    }

    /// Makes the next estimates short: the device is faster than was known.
    pub(super) fn shorten_estimates(&mut self) {
        self.estimates = 0;
    }

    /// Adds a cycle. Returns an estimate when it is complete.
    pub(super) fn add(&mut self, sample: &Sample, now_ns: u64) -> Option<Estimate> {
        let [all, certain] = &mut self.samples;
        if sample.is_certain && all.sent.span_ns > HOLDS_NS {
            (*all, self.since_return) = Default::default();
        }
        all.add(sample);
        // A program can read its clock once for a send and the completions that follow.
        if sample.since_return_ns > 0 {
            (self.since_return).add(sample.new_units, sample.since_return_ns);
        }
        if sample.is_certain {
            certain.add(sample);
        }
        let cycles = CYCLES.min(1 << self.estimates.min(8));
        let is_complete = self.samples[usize::from(sample.is_certain)].is_complete(cycles);
        is_complete.then(|| self.estimate(sample.is_certain, now_ns))
    }

    fn estimate(&mut self, is_certain: bool, now_ns: u64) -> Estimate {
        self.estimates += 1;
        let samples = core::mem::take(&mut self.samples[usize::from(is_certain)]);
        let mut sent = samples.sent;
        if !is_certain {
            let since_return = core::mem::take(&mut self.since_return);
            sent = core::cmp::max_by_key(sent, since_return, |sent| sent.rate());
        }
        let rate = sent.rate();
        let window = &mut self.window;
        window.best = window.best.max(rate);
        window.estimates += 1;
        window.is_certain |= is_certain;
        self.rate = window.best.max(self.previous);
        let mut fall = None;
        let has_ended = now_ns.saturating_sub(self.since_ns) >= HOLDS_NS;
        // One estimate may be of a clock that jumped.
        if has_ended && window.is_certain && window.estimates >= 2 {
            if window.best < self.previous / 8 * 5 {
                fall = Some((window.best, self.previous));
            }
            self.renew_window(now_ns);
        }
        Estimate {
            is_certain,
            has_long_pause: samples.has_long_pause,
            sent,
            partial_units: samples.partial_units,
            fall,
        }
    }

    /// Begins a window: the rate of the one before the last is forgotten.
    pub(super) fn renew_window(&mut self, now_ns: u64) {
        // Two renewals by one estimate would forget both windows.
        if self.window.estimates > 0 {
            self.previous = core::mem::take(&mut self.window).best;
            self.since_ns = now_ns;
        }
    }

    /// The clock went back.
    pub(super) fn restart_window(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
        self.restart_estimate();
    }
}
