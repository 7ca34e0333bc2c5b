//! A fixed limit on simple traces, simulated from interrupt to interrupt instead of from object to
//! object. The search for the smallest sufficient limit uses such runs.

use super::{CompletionTrace, Interval};
use crate::NEVER_NS;

const NS_PER_S: u128 = 1_000_000_000;

/// Returns the utilisation of the wire under a fixed limit, equal to that of a full run. Returns
/// `Some(None)` if it is certainly below the target. Returns `None` if the trace is not simple: one
/// queue, objects of one size, and a saturating sender.
pub(super) fn utilisation(pattern: &CompletionTrace, limit_bytes: u32) -> Option<Option<f64>> {
    let ([queue], [size], []) = (&*pattern.queues, &*pattern.sizes, &*pattern.bursts) else {
        return None;
    };
    let &(from_ns, bytes_per_s) = pattern.rates.first()?;
    if from_ns > 0 || *size == 0 || pattern.rates.iter().any(|rate| rate.1 == 0) {
        return None;
    }
    let mut run = FixedRun {
        pattern,
        // The last object can exceed the limit.
        max_objects: u64::from(limit_bytes / size) + 1,
        in_flight: 0,
        stopped: false,
        wire: FixedWire {
            work: u128::from(*size) * NS_PER_S,
            bytes_per_s: bytes_per_s.into(),
            ends_ns: None,
            remainder: 0,
            waiting: 0,
            sent: 0,
            free_ns: 0,
        },
        dry_ns: 0,
        delay_ns: 0,
        poll_ns: NEVER_NS,
        back_ns: 0,
    };
    Some(run.utilisation(queue.iter()))
}

struct FixedRun<'p> {
    pattern: &'p CompletionTrace,
    /// Maximum objects in flight, and those in flight.
    max_objects: u64,
    in_flight: u64,
    /// The sender was blocked and not woken since.
    stopped: bool,
    wire: FixedWire,
    dry_ns: u64,
    /// Return delay of the sender after the last interrupt, in ns.
    delay_ns: u64,
    poll_ns: u64,
    back_ns: u64,
}

/// Objects of one size on the wire.
struct FixedWire {
    /// Wire time of an object, in ns times bytes/s.
    work: u128,
    bytes_per_s: u128,
    /// End of the object on the wire, if there is one, and the rounding remainder at that time.
    ends_ns: Option<u64>,
    remainder: u128,
    /// Objects queued behind it.
    waiting: u64,
    /// Objects sent and not yet reported.
    sent: u64,
    /// End of the last object, in ns.
    free_ns: u64,
}

impl FixedRun<'_> {
    fn utilisation(&mut self, mut intervals: impl Iterator<Item = Interval>) -> Option<f64> {
        let pattern = self.pattern;
        let (measured_ns, max_dry_ns) = (pattern.measured_ns(), pattern.max_dry_ns());
        let mut rates = pattern.rates[1..].iter().peekable();
        let mut next = intervals.next();
        let after = |next: Option<Interval>, now_ns: u64| {
            next.map_or(NEVER_NS, |it| now_ns.saturating_add(it.gap_ns))
        };
        let mut interrupt_ns = after(next, 0);
        loop {
            let rate_ns = rates.peek().map_or(NEVER_NS, |rate| rate.0);
            let now_ns = (rate_ns.min(interrupt_ns)).min(self.poll_ns.min(self.back_ns));
            if now_ns >= pattern.end_ns {
                break;
            }
            self.wire.advance(now_ns);
            // Simultaneous events are processed in this order.
            if now_ns == rate_ns {
                if let Some(&(_, bytes_per_s)) = rates.next() {
                    self.wire.set_rate(bytes_per_s.into(), now_ns);
                }
            } else if now_ns == interrupt_ns {
                self.delay_ns = next.map_or(0, |it| it.delay_ns);
                next = intervals.next();
                interrupt_ns = after(next, now_ns);
                // Interrupts are masked during polling.
                if self.poll_ns == NEVER_NS {
                    self.complete(now_ns);
                }
            } else if now_ns == self.poll_ns {
                self.complete(now_ns);
            } else {
                self.send(now_ns);
            }
            if self.dry_ns > max_dry_ns {
                return None;
            }
        }
        self.wire.advance(pattern.end_ns);
        if self.wire.ends_ns.is_none() {
            self.count_dry(pattern.end_ns);
        }
        // The sender always has packets, so the wire is busy whenever it is not dry.
        let busy_ns = measured_ns - self.dry_ns;
        Some(busy_ns as f64 / measured_ns.max(1) as f64)
    }

    fn complete(&mut self, now_ns: u64) {
        let budget = match self.pattern.budget {
            0 => u64::MAX,
            budget => budget.into(),
        };
        let reported = self.wire.sent.min(budget);
        self.wire.sent -= reported;
        self.in_flight -= reported;
        self.poll_ns = if self.wire.sent > 0 {
            now_ns.saturating_add(self.pattern.poll_ns)
        } else {
            NEVER_NS
        };
        if self.stopped && reported > 0 {
            self.stopped = false;
            match self.delay_ns {
                0 => self.send(now_ns),
                delay_ns => self.back_ns = now_ns.saturating_add(delay_ns),
            }
        }
    }

    fn send(&mut self, now_ns: u64) {
        self.back_ns = NEVER_NS;
        self.stopped = true;
        let objects = self.max_objects - self.in_flight;
        if objects == 0 {
            return;
        }
        self.in_flight += objects;
        if self.wire.ends_ns.is_none() {
            self.count_dry(now_ns);
        }
        self.wire.add(objects, now_ns);
    }

    fn count_dry(&mut self, now_ns: u64) {
        let from_ns = self.wire.free_ns.max(self.pattern.warm_ns);
        self.dry_ns += now_ns.min(self.pattern.end_ns).saturating_sub(from_ns);
    }
}

impl FixedWire {
    fn add(&mut self, objects: u64, now_ns: u64) {
        self.waiting += objects;
        if self.ends_ns.is_none() {
            if now_ns > self.free_ns {
                self.remainder = 0;
            }
            self.start(1, now_ns);
        }
    }

    /// Puts the last of the next `objects` on the wire; the first of them starts at `now_ns`.
    fn start(&mut self, objects: u64, now_ns: u64) {
        let work = self.work * u128::from(objects) + self.remainder;
        self.remainder = work % self.bytes_per_s;
        let took_ns = (work / self.bytes_per_s).min(u64::MAX.into()) as u64;
        self.ends_ns = Some(now_ns.saturating_add(took_ns));
        self.waiting -= objects;
        self.sent += objects - 1;
    }

    /// Sends the objects that have left by `now_ns`.
    fn advance(&mut self, now_ns: u64) {
        let Some(ends_ns) = self.ends_ns.filter(|&ends_ns| ends_ns <= now_ns) else {
            return;
        };
        self.sent += 1;
        // Number of further objects that have left; their wire time in whole ns is not above this.
        let left = (u128::from(now_ns - ends_ns) + 1) * self.bytes_per_s - 1 - self.remainder;
        let more = (left / self.work).min(self.waiting.into()) as u64;
        if more < self.waiting {
            self.start(more + 1, ends_ns);
            return;
        }
        self.free_ns = ends_ns;
        self.ends_ns = None;
        if more > 0 {
            self.start(more, ends_ns);
            self.free_ns = self.ends_ns.take().unwrap_or(ends_ns);
            self.sent += 1;
        }
    }

    /// Sends the remainder of the object on the wire at the new rate.
    fn set_rate(&mut self, bytes_per_s: u128, now_ns: u64) {
        if let Some(ends_ns) = &mut self.ends_ns {
            let left = u128::from(ends_ns.saturating_sub(now_ns));
            let left_ns = (left * self.bytes_per_s / bytes_per_s).min(u64::MAX.into());
            *ends_ns = now_ns.saturating_add(left_ns as u64);
        }
        self.bytes_per_s = bytes_per_s;
        self.remainder = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{CompletionTrace, Intervals};
    use super::super::{Detail, observe};
    use super::*;
    use taut_path::limit::Fixed;

    fn pattern() -> impl Strategy<Value = CompletionTrace> {
        let interval = (1_000_u64..400_000, prop_oneof![Just(0), 0_u64..300_000]);
        let rate = prop_oneof![Just(125_000_000_u64), 1_000_000_u64..999_999_999];
        (
            proptest::collection::vec(interval, 100..400),
            proptest::collection::vec(rate, 1..4),
            60_u32..3_000,
            prop_oneof![Just(0_u32), 1_u32..40],
            1_000_u64..20_000,
        )
            .prop_map(|(intervals, rates, size, budget, poll_ns)| {
                let mut queue = Intervals::new();
                for (gap_ns, delay_ns) in intervals {
                    queue.push(Interval { gap_ns, delay_ns });
                }
                let end_ns = queue.total_ns();
                let step_ns = end_ns / rates.len() as u64;
                let rates = (0..).map(|step| step * step_ns).zip(rates);
                CompletionTrace {
                    id: "drawn".to_owned(),
                    rates: rates.collect(),
                    sizes: vec![size],
                    budget,
                    poll_ns,
                    bursts: Vec::new(),
                    warm_ns: end_ns / 5,
                    end_ns,
                    // So that no run ends early.
                    utilisation: 1e-9,
                    changes_ns: Vec::new(),
                    queues: vec![queue],
                }
            })
    }

    proptest! {
        #[test]
        fn fixed_run_matches_the_run_through_the_queue(
            pattern in pattern(),
            limit_bytes in prop_oneof![Just(0_u32), 0_u32..100_000],
        ) {
            let seen = observe(&pattern, Fixed::bytes(limit_bytes), Detail::FULL).expect("a run");
            let found = utilisation(&pattern, limit_bytes).expect("a simple trace");
            prop_assert_eq!(found, Some(seen.utilisation));
        }
    }
}
