//! Families of synthetic completion traces, defined before any result was known.
//!
//! Each is created from a seed, in any length. The comment on each states the weakness that it
//! tests.

use core::f64::consts::TAU;

use taut_sim::completion_trace::{Burst, CompletionTrace, Interval, Intervals, SplitMix};

/// 1 Gbit/s.
pub(super) const BYTES_PER_S: u64 = 125_000_000;

/// Size of a full segment as counted by the limit.
pub(super) const FULL_BYTES: u32 = 1_514;

/// One family.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Name of the family.
    pub name: &'static str,
    /// Makes its random numbers different from those of other families with the same seed.
    offset: u64,
    make: fn(SplitMix, Times) -> CompletionTrace,
}

/// Warm-up and end of a trace, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// End of the warm-up.
    pub warm_ns: u64,
    /// The end.
    pub end_ns: u64,
}

impl Family {
    pub(super) const fn new(
        offset: u64,
        name: &'static str,
        make: fn(SplitMix, Times) -> CompletionTrace,
    ) -> Self {
        Self { name, offset, make }
    }

    /// Returns the trace of a seed. The published ones have times of their own.
    pub fn pattern(&self, seed: u64, times: Times) -> CompletionTrace {
        let seed = seed.wrapping_mul(1_000).wrapping_add(self.offset);
        CompletionTrace {
            id: self.name.to_owned(),
            ..(self.make)(SplitMix::new(seed), times)
        }
    }
}

impl Times {
    /// Returns a saturated sender of full segments at 1 Gbit/s, with everything reaped at once.
    fn saturated(self, queues: Vec<Intervals>) -> CompletionTrace {
        CompletionTrace {
            id: String::new(),
            rates: vec![(0, BYTES_PER_S)],
            sizes: vec![FULL_BYTES],
            budget: 0,
            poll_ns: 3_000,
            bursts: Vec::new(),
            warm_ns: self.warm_ns,
            end_ns: self.end_ns,
            utilisation: 0.999,
            changes_ns: Vec::new(),
            queues,
        }
    }

    /// Creates a trace of one queue; `next` returns gap and delay in us for a time in us.
    pub(super) fn one_queue(
        self,
        mut random: SplitMix,
        next: impl FnMut(&mut SplitMix, f64) -> (f64, f64),
    ) -> CompletionTrace {
        self.saturated(vec![self.intervals(&mut random, next)])
    }

    /// Adds gaps and delays until the end; `next` returns both in us for a time in us.
    fn intervals(
        self,
        random: &mut SplitMix,
        mut next: impl FnMut(&mut SplitMix, f64) -> (f64, f64),
    ) -> Intervals {
        let mut intervals = Intervals::default();
        while intervals.total_ns() < self.end_ns {
            let (gap_us, delay_us) = next(random, intervals.total_ns() as f64 / 1e3);
            // The conversion saturates, so the next interrupt is always later.
            intervals.push(Interval {
                gap_ns: ((gap_us * 1e3) as u64).max(1),
                delay_ns: (delay_us * 1e3) as u64,
            });
        }
        intervals
    }

    /// Returns 0, and then every `step_ns` until the end.
    fn steps(self, step_ns: u64) -> impl Iterator<Item = (usize, u64)> {
        let end_ns = self.end_ns;
        (0..end_ns).step_by(step_ns as usize).enumerate()
    }
}

/// Two alternating states with exponential durations.
struct TwoStates {
    second: bool,
    until_us: f64,
}

impl TwoStates {
    const fn new() -> Self {
        Self {
            second: true,
            until_us: 0.0,
        }
    }

    /// Returns `true` in the second state, at `now_us`.
    fn at(&mut self, random: &mut SplitMix, now_us: f64, mean_us: [f64; 2]) -> bool {
        while now_us >= self.until_us {
            self.second = !self.second;
            self.until_us += random.exponential(mean_us[usize::from(self.second)]);
        }
        self.second
    }
}

/// Every family, with the weakness that it tests.
pub(super) const ALL: &[Family] = &[
    // The sender returns late when it is busy: its delay and the load increase together.
    Family::new(201, "f01-late-and-busy", |random, times| {
        let mut busy = TwoStates::new();
        times.one_queue(random, move |random, now_us| {
            let busy = busy.at(random, now_us, [90e3, 10e3]);
            let delay_us = if busy {
                random.between(100.0, 300.0)
            } else {
                random.exponential(15.0)
            };
            (random.between(80.0, 120.0), delay_us)
        })
    }),
    // Batches of 8 objects, 10 us apart: one interval is reported in many parts.
    Family::new(202, "f02-small-budget", |random, times| CompletionTrace {
        budget: 8,
        poll_ns: 10_000,
        ..times.one_queue(random, |random, _| (random.between(150.0, 250.0), 0.0))
    }),
    // Frequent interrupts at low load and rare ones under load, in on/off bursts.
    Family::new(203, "f03-moderation", |random, times| CompletionTrace {
        bursts: vec![Burst {
            period_ns: 50_000_000,
            // 24 ms of wire time.
            objects: 2_000,
        }],
        ..times.one_queue(random, |random, now_us| {
            let under_load = now_us % 50e3 < 25e3;
            let gap_us = if under_load { 125.0 } else { 20.0 };
            (gap_us * random.between(0.9, 1.1), 0.0)
        })
    }),
    // GSO packets among ACKs in bursts: object sizes differ by a factor of a thousand.
    Family::new(204, "f04-supers-and-acks", |random, times| {
        let mut sizes_random = random.clone();
        let size = |share: f64| if share < 0.2 { 65_226 } else { 66 };
        let sizes = (0..499).map(|_| size(sizes_random.even())).collect();
        CompletionTrace {
            sizes,
            bursts: vec![Burst {
                period_ns: 30_000_000,
                // Half of the wire time.
                objects: 140,
            }],
            ..times.one_queue(random, |random, _| (random.exponential(60.0), 0.0))
        }
    }),
    // A light load that is saturated once a second for 100 ms: learning while idle.
    Family::new(205, "f05-light-rarely-full", |random, times| {
        CompletionTrace {
            bursts: vec![
                Burst {
                    period_ns: 997_000,
                    objects: 4,
                },
                Burst {
                    period_ns: 1_000_000_000,
                    // 100 ms of wire time.
                    objects: 8_250,
                },
            ],
            ..times.one_queue(random, |random, _| (random.between(60.0, 140.0), 0.0))
        }
    }),
    // Gaps that vary from 50 to 250 us and back in 7 s: a required in-flight that always changes.
    Family::new(206, "f06-sinus", |random, times| {
        times.one_queue(random, |random, now_us| {
            let scale_us = 150.0 - 100.0 * libm::cos(TAU * now_us / 7e6);
            (scale_us * random.between(0.9, 1.1), 0.0)
        })
    }),
    // A pause of 20 ms about every 10 s, as of a garbage collector: whether to cover it.
    Family::new(207, "f07-gc-pauses", |random, times| {
        times.one_queue(random, |random, _| {
            // One of 100,000 gaps of 100 us each.
            if random.happens(1e-5) {
                (20e3, 0.0)
            } else {
                (random.between(80.0, 120.0), 0.0)
            }
        })
    }),
    // Gaps of 50 us for seconds, then 400 us for seconds: memory longer or shorter than a regime.
    Family::new(208, "f08-long-regimes", |random, times| {
        let mut slow = TwoStates::new();
        times.one_queue(random, move |random, now_us| {
            let slow = slow.at(random, now_us, [3e6, 3e6]);
            let gap_us = if slow { 400.0 } else { 50.0 };
            (gap_us * random.between(0.8, 1.2), 0.0)
        })
    }),
    // Gaps with a tail between the exponential and the Pareto distribution: no maximum.
    Family::new(209, "f09-weibull", |random, times| {
        // Mean 100 us: 66.5 x Gamma(1 + 1/0.6).
        times.one_queue(random, |random, _| (random.weibull(0.6, 66.5), 0.0))
    }),
    // Gaps more regular than exponential ones: a soft edge instead of a hard one.
    Family::new(210, "f10-gamma", |random, times| {
        times.one_queue(random, |random, _| {
            ((0..4).map(|_| random.exponential(25.0)).sum(), 0.0)
        })
    }),
    // Minimal packets in batches of 64 with late batches: counts that are multiples.
    Family::new(211, "f11-napi-64", |random, times| CompletionTrace {
        sizes: vec![66],
        budget: 64,
        poll_ns: 12_000,
        ..times.one_queue(random, |random, _| {
            (random.between(40.0, 160.0), random.exponential(3.0))
        })
    }),
    // A device that sends for 3 ms and is nearly idle for 2 ms: intervals without required
    // in-flight.
    Family::new(212, "f12-token-bucket", |random, times| {
        let cycles = times.steps(5_000_000).map(|(_, start_ns)| start_ns);
        let rates = cycles.flat_map(|ns| [(ns, BYTES_PER_S), (ns + 3_000_000, BYTES_PER_S / 100)]);
        CompletionTrace {
            rates: rates.collect(),
            ..times.one_queue(random, |random, _| (random.between(80.0, 120.0), 0.0))
        }
    }),
    // A rate that doubles each second, four times up and four times down.
    Family::new(213, "f13-rate-ramp", |random, times| {
        let rate = |step: usize| {
            let doublings = [0, 1, 2, 3, 4, 3, 2, 1][step % 8];
            (BYTES_PER_S / 16) << doublings
        };
        let rates = times.steps(1_000_000_000);
        CompletionTrace {
            rates: rates.map(|(step, ns)| (ns, rate(step))).collect(),
            changes_ns: times.steps(1_000_000_000).map(|it| it.1).collect(),
            ..times.one_queue(random, |random, _| (random.between(80.0, 120.0), 0.0))
        }
    }),
    // Gaps of 100 us and 1 ms, alternating every 10 s: convergence time and cost in both
    // directions.
    Family::new(214, "f14-gap-steps", |random, times| CompletionTrace {
        changes_ns: times.steps(10_000_000_000).map(|it| it.1).collect(),
        ..times.one_queue(random, |random, now_us| {
            let slow = now_us % 20e6 >= 10e6;
            let gap_us = if slow { 1_000.0 } else { 100.0 };
            (gap_us * random.between(0.8, 1.2), 0.0)
        })
    }),
    // Gaps whose scale changes by a tenth every 100 ms, without a mean to return to.
    Family::new(215, "f15-random-walk", |random, times| {
        let (mut scale, mut until_us) = (0.0_f64, 0.0);
        times.one_queue(random, move |random, now_us| {
            while now_us >= until_us {
                until_us += 100e3;
                // Between 100 / 3 and 300 us, so that it returns.
                scale = (scale + 0.1 * random.normal()).clamp(-1.1, 1.1);
            }
            (100.0 * libm::exp(scale) * random.between(0.9, 1.1), 0.0)
        })
    }),
    // Four queues round-robin on one wire: the rate of each depends on the others.
    Family::new(216, "f16-four-queues", |mut random, times| {
        let queues = (0..4).map(|_| {
            let mut random = SplitMix::new(random.next());
            times.intervals(&mut random, |random, _| (random.between(60.0, 140.0), 0.0))
        });
        times.saturated(queues.collect())
    }),
];
