//! The loop: interrupts, the sender, and the pauses of both.

use std::task::Waker;

use taut_path::{AnyLimit, Queue, QueueConfig};

use super::ring::PauseRing;
use super::{PauseBenchConfig, PauseReport, Paused};
use crate::NEVER_NS;
use crate::completion_trace::{SATURATED, TraceSource};
use crate::error::{TestbedError, demand, demand_countable};
use crate::queue::{QueueFault, queue_config};
use crate::rng::Rng;
use crate::single_queue_bench::Rule;
use crate::sink::Sink;

/// Time from a completion that makes room to the send, in ns: that of a softirq or a wake-up.
const SEND_DELAY_NS: u64 = 2_000;

/// The maximum end, in ns. The bench counts time in ps, with room for the packets of a full ring.
const MAX_END_NS: u64 = 1_000_000_000_000_000;

/// An event that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Interrupt,
    Wakeup,
    Send,
}

struct PauseRun<'c> {
    config: &'c PauseBenchConfig,
    queue: Queue<PauseRing, AnyLimit, TraceSource>,
    rng: Rng,
    sink: Sink,
    interrupt_ns: u64,
    last_interrupt_ns: u64,
    send_ns: u64,
    /// Time until which the report is complete, in ns.
    seen_ns: u64,
    in_flight_ns: u128,
    report: PauseReport,
}

/// Runs one queue with `rule` through its pauses.
///
/// # Errors
/// If the queue cannot be built from the settings, or becomes faulty.
pub fn observe(config: &PauseBenchConfig, rule: &Rule) -> Result<PauseReport, TestbedError> {
    let sizes = [config.object_bytes];
    demand_countable(sizes.into_iter(), "object_bytes")?;
    demand("rate_bits_per_s", config.rate_bits_per_s, 1..=u64::MAX)?;
    demand("end_ns", config.end_ns, 0..=MAX_END_NS)?;
    let every_ns = config.pause.and_then(|pause| pause.every_ns);
    demand("every_ns of a pause", every_ns.unwrap_or(1), 1..=u64::MAX)?;
    let mut run = PauseRun::new(config, rule)?;
    run.run_until(config.warm_ns)?;
    run.begin();
    let (idle_ns, ring_stops) = (run.idle_ns(config.warm_ns), run.ring_stops());
    run.run_until(config.end_ns)?;
    let idle_ns = run.idle_ns(config.end_ns) - idle_ns;
    let measured_ns = config.end_ns.saturating_sub(config.warm_ns).max(1);
    Ok(PauseReport {
        in_flight_mean: run.in_flight_ns as f64 / config.mean_ns.max(1) as f64,
        ring_stops: run.ring_stops() - ring_stops,
        utilisation: 1.0 - idle_ns as f64 / measured_ns as f64,
        ..run.report
    })
}

impl<'c> PauseRun<'c> {
    fn new(config: &'c PauseBenchConfig, rule: &Rule) -> Result<Self, TestbedError> {
        let ring = PauseRing::new(config.ring_slots, config.rate_bits_per_s);
        let queue = Queue::builder_for(ring)
            .with_limit(rule.limit.clone())
            .with_qdisc(TraceSource::new(SATURATED, vec![config.object_bytes]))
            .config(QueueConfig {
                coalesce_ns: rule.coalesce_ns,
                ..queue_config(None, Waker::noop().clone())
            })
            .build(0)?;
        Ok(Self {
            config,
            queue,
            rng: Rng::new(config.seed),
            sink: Sink::default(),
            interrupt_ns: NEVER_NS,
            last_interrupt_ns: 0,
            send_ns: 0,
            seen_ns: 0,
            in_flight_ns: 0,
            report: PauseReport::default(),
        })
    }

    fn idle_ns(&self, now_ns: u64) -> u64 {
        self.queue.device().idle_ns(now_ns)
    }

    fn ring_stops(&self) -> u64 {
        self.queue.sender_counters().ring_stops
    }

    /// Starts the first pause.
    fn begin(&mut self) {
        self.report.limit_before = self.queue.snapshot().limit;
        self.note_peaks();
    }

    /// Processes all events before `until_ns`, and completes the report until then.
    fn run_until(&mut self, until_ns: u64) -> Result<(), TestbedError> {
        loop {
            let (now_ns, due) = self.next();
            if now_ns >= until_ns {
                break;
            }
            self.see_until(now_ns);
            self.act(due, now_ns)?;
            if self.seen_ns >= self.config.warm_ns {
                self.note_peaks();
            }
        }
        self.see_until(until_ns);
        Ok(())
    }

    /// Returns the next event. At one time the interrupt is first, so that the sender finds the
    /// room.
    fn next(&self) -> (u64, Due) {
        let interrupt_ns = self.after_pause(self.interrupt_ns, false);
        let wakeup_ns = self.queue.next_wakeup().unwrap_or(NEVER_NS);
        let wakeup_ns = self.after_pause(wakeup_ns.max(self.seen_ns), false);
        let send_ns = self.after_pause(self.send_ns, true);
        if interrupt_ns <= wakeup_ns.min(send_ns) {
            (interrupt_ns, Due::Interrupt)
        } else if wakeup_ns <= send_ns {
            (wakeup_ns, Due::Wakeup)
        } else {
            (send_ns, Due::Send)
        }
    }

    /// Returns the time at which the sender or the completer does the work of `at_ns`, in ns.
    fn after_pause(&self, at_ns: u64, is_sender: bool) -> u64 {
        let Some(pause) = self.config.pause else {
            return at_ns;
        };
        if at_ns < self.config.warm_ns || at_ns == NEVER_NS {
            return at_ns;
        }
        if pause.paused == Paused::Sender && !is_sender {
            return at_ns;
        }
        let since_ns = at_ns - self.config.warm_ns;
        let start_ns = pause.every_ns.map_or(0, |every| since_ns / every * every);
        match since_ns - start_ns < pause.length_ns {
            true => self.config.warm_ns + start_ns + pause.length_ns,
            false => at_ns,
        }
    }

    fn act(&mut self, due: Due, now_ns: u64) -> Result<(), QueueFault> {
        match due {
            Due::Interrupt => {
                self.last_interrupt_ns = now_ns;
                self.interrupt_ns = NEVER_NS;
                self.queue.device_mut().interrupt(now_ns);
                self.complete(now_ns)?;
            }
            Due::Wakeup => self.complete(now_ns)?,
            Due::Send => {
                self.send_ns = NEVER_NS;
                let stop = self.queue.run(now_ns, &mut self.sink);
                QueueFault::of_run(stop, 0, now_ns)?;
            }
        }
        self.plan_interrupt(now_ns);
        Ok(())
    }

    fn complete(&mut self, now_ns: u64) -> Result<(), QueueFault> {
        let done = self.queue.complete(now_ns, &mut self.sink);
        let done = QueueFault::of_batch(done, 0, now_ns)?;
        if done.schedule {
            self.send_ns = self.send_ns.min(now_ns + SEND_DELAY_NS);
        }
        Ok(())
    }

    /// Schedules the interrupt of the first packet, at most one in each interval.
    fn plan_interrupt(&mut self, now_ns: u64) {
        if self.interrupt_ns != NEVER_NS {
            return;
        }
        if let Some(first_ns) = self.queue.device().next_completion_ns() {
            let period_ns = self.config.interrupt_ns;
            let gap_ns = period_ns - period_ns / 10 + self.rng.below(period_ns / 5 + 1);
            let earliest_ns = self.last_interrupt_ns + gap_ns;
            self.interrupt_ns = first_ns.max(earliest_ns).max(now_ns);
        }
    }

    /// Adds the time until `now_ns` with unchanged state to the report.
    fn see_until(&mut self, now_ns: u64) {
        let PauseBenchConfig {
            warm_ns, mean_ns, ..
        } = *self.config;
        let (from_ns, until_ns) = (self.seen_ns.max(warm_ns), now_ns.min(warm_ns + mean_ns));
        let held_ns = u128::from(until_ns.saturating_sub(from_ns));
        self.in_flight_ns += held_ns * u128::from(self.queue.in_flight());
        self.seen_ns = now_ns;
        let pause_ns = self.config.pause.map_or(0, |pause| pause.length_ns);
        let passed_ns = now_ns.saturating_sub(warm_ns + pause_ns);
        let samples_ns = &self.config.samples_ns[self.report.limits.len()..];
        let reached = samples_ns.iter().take_while(|&&it| it <= passed_ns).count();
        if reached > 0 {
            let limit = self.queue.snapshot().limit;
            self.report.limits.extend(vec![limit; reached]);
        }
    }

    fn note_peaks(&mut self) {
        let limit = self.queue.snapshot().limit;
        self.report.limit_peak = self.report.limit_peak.max(limit);
        let in_flight = self.queue.in_flight();
        self.report.in_flight_peak = self.report.in_flight_peak.max(in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pause;
    use super::*;

    const RATE_BITS_PER_S: u64 = 1_000_000_000;

    fn config(pause: Option<Pause>) -> PauseBenchConfig {
        PauseBenchConfig {
            rate_bits_per_s: RATE_BITS_PER_S,
            ring_slots: 64,
            object_bytes: 1_514,
            interrupt_ns: 100_000,
            seed: 1,
            pause,
            warm_ns: 100_000_000,
            mean_ns: 100_000_000,
            samples_ns: vec![0, 10_000_000, 90_000_000],
            end_ns: 200_000_000,
        }
    }

    fn pause(paused: Paused, length_ns: u64) -> Option<Pause> {
        Some(Pause {
            paused,
            length_ns,
            every_ns: None,
        })
    }

    #[test]
    fn without_pause_the_link_is_busy_all_the_time() {
        let report = observe(&config(None), &Rule::bytes(40_000)).expect("valid");
        assert_eq!(report.utilisation, 1.0);
        assert_eq!(report.limits, [40_000; 3]);
        assert_eq!((report.limit_before, report.limit_peak), (40_000, 40_000));
        assert!((40_000..41_514).contains(&report.in_flight_peak));
    }

    #[test]
    fn paused_thread_leaves_the_link_idle_when_the_ring_is_empty() {
        let pause = pause(Paused::Thread, 10_000_000);
        let report = observe(&config(pause), &Rule::bytes(40_000)).expect("valid");
        // 40 KB are 0.32 ms; the link is idle for the rest of 10 of the 100 ms.
        let idle = 1.0 - report.utilisation;
        assert!((0.0965..0.0990).contains(&idle), "{report:?}");
        // The packets remain in flight, because no completion is reported.
        assert!(report.in_flight_mean > 20_000.0, "{report:?}");
        assert_eq!(report.limits.len(), 3);
    }

    #[test]
    fn paused_sender_has_nothing_in_flight() {
        let whole = observe(&config(None), &Rule::bytes(40_000)).expect("valid");
        let pause = pause(Paused::Sender, 50_000_000);
        let half = observe(&config(pause), &Rule::bytes(40_000)).expect("valid");
        let share = half.in_flight_mean / whole.in_flight_mean;
        assert!((0.49..0.52).contains(&share), "{half:?}");
        assert_eq!(half.limits.len(), 2);
    }

    #[test]
    fn full_ring_stops_a_queue_without_limit() {
        let report = observe(&config(None), &Rule::off()).expect("valid");
        assert!(report.ring_stops > 100, "{report:?}");
        assert_eq!(report.in_flight_peak, 64 * 1_514);
    }
}
