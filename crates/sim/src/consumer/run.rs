//! A sender, a consumer and the timer of notifications.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use taut_dql::Error;
use taut_path::AnyLimit;

use super::ledger::ConsumerLedger;
use super::{ConsumerConfig, ConsumerReport, Notify};
use crate::NEVER_NS;
use crate::completion_trace::SplitMix;
use crate::error::TestbedError;
use taut_measure::meter::histogram_ns;

struct ConsumerRun {
    config: ConsumerConfig,
    ledger: ConsumerLedger,
    /// Due times, in ns; [`NEVER_NS`] if asleep or not on the core.
    sender_ns: u64,
    consumer_ns: u64,
    timer_ns: u64,
    queued: u64,
    finished: u64,
    /// Packets finished and not yet reported.
    pending: u32,
    /// Packets finished in the current poll.
    polled: u32,
    pings: Pings,
    cycles: Cycles,
}

/// Runs sender and consumer of `config` with `limit`.
///
/// # Errors
/// Returns the errors of [`ConsumerConfig::check`]. Also fails if more is in flight than a limit
/// can count, which needs a ring of unusual size.
pub fn observe(config: &ConsumerConfig, limit: AnyLimit) -> Result<ConsumerReport, TestbedError> {
    config.check()?;
    let mut run = ConsumerRun {
        config: *config,
        ledger: ConsumerLedger::new(limit, config.units, config.warm_ns),
        sender_ns: 0,
        consumer_ns: NEVER_NS,
        timer_ns: NEVER_NS,
        queued: 0,
        finished: 0,
        pending: 0,
        polled: 0,
        pings: Pings::new(config),
        cycles: Cycles::default(),
    };
    run.run_to_end()?;
    Ok(run.seen())
}

impl ConsumerRun {
    /// Processes everything that is due before the end. Simultaneous events: first the consumer
    /// finishes a packet, then the timer notifies, then the sender continues.
    fn run_to_end(&mut self) -> Result<(), Error> {
        loop {
            let now_ns = self.consumer_ns.min(self.timer_ns).min(self.sender_ns);
            if now_ns >= self.config.end_ns {
                return Ok(());
            }
            if self.consumer_ns == now_ns {
                self.finish(now_ns)?;
            } else if self.timer_ns == now_ns {
                self.notify(now_ns)?;
            } else {
                self.send(now_ns)?;
            }
        }
    }

    fn in_ring(&self) -> u64 {
        self.queued - self.finished
    }

    /// Puts the next packet into the ring, or sleeps.
    fn send(&mut self, now_ns: u64) -> Result<(), Error> {
        let has_room = self.ledger.counted.has_room();
        if !has_room || self.in_ring() >= u64::from(self.config.ring) {
            if !has_room {
                self.ledger.counted.blocked();
            }
            self.sender_ns = NEVER_NS;
            if self.config.shared_core {
                self.consumer_runs_from(now_ns + self.config.switch_ns);
            }
            return Ok(());
        }
        self.ledger.queued(now_ns)?;
        self.pings.queued(self.queued, now_ns);
        self.queued += 1;
        let mut next_ns = now_ns + self.config.sender_ns;
        if !self.config.shared_core && self.consumer_ns == NEVER_NS {
            next_ns += self.config.wake_ns;
            self.consumer_runs_from(now_ns + self.config.wake_ns + self.config.switch_ns);
        }
        self.sender_ns = next_ns;
        Ok(())
    }

    fn consumer_runs_from(&mut self, start_ns: u64) {
        if self.in_ring() > 0 {
            self.consumer_ns = start_ns + self.config.consumer_ns;
        }
    }

    fn finish(&mut self, now_ns: u64) -> Result<(), Error> {
        self.pings.finished(self.finished, now_ns);
        self.finished += 1;
        self.pending += 1;
        self.polled += 1;
        let is_over = self.polled == self.config.poll || self.in_ring() == 0;
        let mut now_ns = now_ns;
        let notifies = match self.config.notify {
            Notify::Packet => true,
            Notify::Poll => is_over,
            Notify::After(after_ns) => {
                if self.timer_ns == NEVER_NS {
                    self.timer_ns = now_ns + after_ns;
                }
                self.ledger.is_above(self.pending)
            }
        };
        if notifies && self.notify(now_ns)? {
            now_ns += self.config.wake_ns;
        }
        self.consumer_ns = NEVER_NS;
        if is_over {
            self.polled = 0;
            if self.config.shared_core && self.can_send() {
                self.sender_runs_from(now_ns + self.config.switch_ns);
                return Ok(());
            }
        }
        self.consumer_runs_from(now_ns);
        Ok(())
    }

    fn can_send(&self) -> bool {
        self.ledger.counted.has_room() && self.in_ring() < u64::from(self.config.ring)
    }

    fn sender_runs_from(&mut self, start_ns: u64) {
        self.sender_ns = start_ns;
        self.cycles
            .returned(start_ns, self.finished, self.config.warm_ns);
    }

    /// Notifies the queue. Returns `true` if that woke the sender on another core.
    fn notify(&mut self, now_ns: u64) -> Result<bool, Error> {
        self.timer_ns = NEVER_NS;
        self.ledger.completed(self.pending, now_ns)?;
        self.pending = 0;
        if self.sender_ns != NEVER_NS || !self.can_send() {
            return Ok(false);
        }
        let wakes = !self.config.shared_core;
        if wakes {
            self.sender_runs_from(now_ns + self.config.wake_ns + self.config.switch_ns);
        } else if self.consumer_ns == NEVER_NS && self.in_ring() == 0 {
            // The core was idle, waiting for the timer.
            self.sender_runs_from(now_ns + self.config.switch_ns);
        }
        Ok(wakes)
    }

    fn seen(mut self) -> ConsumerReport {
        let (in_flight_mean, limit_p50) = self.ledger.close(self.config.end_ns);
        ConsumerReport {
            packets_per_s: self.cycles.packets_per_s(),
            in_flight_mean,
            limit_p50,
            ping_ns: self.pings.delays_ns,
            queued: self.queued,
            finished: self.finished,
            reported: self.finished - u64::from(self.pending),
        }
    }
}

/// First and last return of the sender in the measured time, with the packets finished by then.
#[derive(Debug, Default)]
struct Cycles {
    first: Option<(u64, u64)>,
    last: (u64, u64),
}

impl Cycles {
    fn returned(&mut self, now_ns: u64, finished: u64, warm_ns: u64) {
        if now_ns >= warm_ns {
            self.last = (now_ns, finished);
            self.first.get_or_insert(self.last);
        }
    }

    fn packets_per_s(&self) -> f64 {
        let Some((first_ns, before)) = self.first else {
            return 0.0;
        };
        let (last_ns, finished) = self.last;
        (finished - before) as f64 * 1e9 / (last_ns - first_ns).max(1) as f64
    }
}

/// Pings: each is the next packet that is queued.
struct Pings {
    random: SplitMix,
    mean_ns: u64,
    warm_ns: u64,
    next_ns: u64,
    /// Packet number and sending time of each ping.
    in_ring: VecDeque<(u64, u64)>,
    delays_ns: Histogram<u64>,
}

impl Pings {
    fn new(config: &ConsumerConfig) -> Self {
        let mut pings = Self {
            random: SplitMix::new(config.seed),
            mean_ns: config.ping_ns,
            warm_ns: config.warm_ns,
            next_ns: 0,
            in_ring: VecDeque::new(),
            delays_ns: histogram_ns(),
        };
        pings.plan();
        pings
    }

    fn plan(&mut self) {
        let wait_ns = self.random.exponential(self.mean_ns as f64) as u64;
        self.next_ns = match self.mean_ns {
            0 => u64::MAX,
            _ => self.next_ns.saturating_add(wait_ns.max(1)),
        };
    }

    fn queued(&mut self, packet: u64, now_ns: u64) {
        if self.next_ns <= now_ns {
            self.in_ring.push_back((packet, self.next_ns));
            self.plan();
        }
    }

    fn finished(&mut self, packet: u64, now_ns: u64) {
        if let Some(&(first, sent_ns)) = self.in_ring.front()
            && first == packet
        {
            self.in_ring.pop_front();
            if sent_ns >= self.warm_ns {
                self.delays_ns.saturating_record(now_ns - sent_ns);
            }
        }
    }
}
