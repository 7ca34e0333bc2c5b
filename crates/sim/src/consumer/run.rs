//! The loop of a run: sender, consumer and the timer that tells, the earliest first.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use taut_dql::Error;
use taut_path::AnyLimit;

use super::ledger::Ledger;
use super::{ConsumerConfig, Core, Seen, Told};
use crate::error::TestbedError;
use crate::pattern::SplitMix;
use taut_measure::meter::histogram_ns;

/// What can be due, in the order in which it happens at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The consumer has finished a packet.
    Consumer,
    /// It is time to tell.
    Timer,
    /// The sender has a packet ready.
    Sender,
}

struct Run {
    config: ConsumerConfig,
    ledger: Ledger,
    /// When each of them is due; `None` asleep, or not on the core.
    sender_ns: Option<u64>,
    consumer_ns: Option<u64>,
    timer_ns: Option<u64>,
    queued: u64,
    finished: u64,
    /// Finished and not told of.
    pending: u32,
    /// Finished in this poll.
    polled: u32,
    pings: Pings,
    rounds: Rounds,
}

/// Runs the two of `config` with `limit`.
///
/// # Errors
/// As [`ConsumerConfig::check`]; if more is in flight than can be counted, which no ring of a usual size leads to.
pub fn observe(config: &ConsumerConfig, limit: AnyLimit) -> Result<Seen, TestbedError> {
    config.check()?;
    let mut run = Run {
        config: *config,
        ledger: Ledger::new(limit, config.units, config.warm_ns),
        sender_ns: Some(0),
        consumer_ns: None,
        timer_ns: None,
        queued: 0,
        finished: 0,
        pending: 0,
        polled: 0,
        pings: Pings::new(config),
        rounds: Rounds::default(),
    };
    run.run_to_end()?;
    Ok(run.seen())
}

impl Run {
    fn run_to_end(&mut self) -> Result<(), Error> {
        while let Some((now_ns, due)) = self.next_due()
            && now_ns < self.config.end_ns
        {
            match due {
                Due::Sender => self.send(now_ns)?,
                Due::Consumer => self.finish(now_ns)?,
                Due::Timer => {
                    let _ = self.tell(now_ns)?;
                }
            }
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(u64, Due)> {
        let all = [
            self.consumer_ns.map(|ns| (ns, Due::Consumer)),
            self.timer_ns.map(|ns| (ns, Due::Timer)),
            self.sender_ns.map(|ns| (ns, Due::Sender)),
        ];
        all.into_iter().flatten().min()
    }

    fn in_ring(&self) -> u64 {
        self.queued - self.finished
    }

    /// Puts the packet that is ready into the ring, or sleeps.
    fn send(&mut self, now_ns: u64) -> Result<(), Error> {
        let has_room = self.ledger.has_room();
        if !has_room || self.in_ring() >= u64::from(self.config.ring) {
            if !has_room {
                self.ledger.refused();
            }
            self.sender_ns = None;
            if self.config.core == Core::Shared {
                self.consumer_runs_from(now_ns + self.config.switch_ns);
            }
            return Ok(());
        }
        self.ledger.queued(now_ns)?;
        self.pings.queued(self.queued, now_ns);
        self.queued += 1;
        let mut next_ns = now_ns + self.config.sender_ns;
        if self.config.core == Core::Own && self.consumer_ns.is_none() {
            next_ns += self.config.wake_ns;
            self.consumer_runs_from(now_ns + self.config.wake_ns + self.config.switch_ns);
        }
        self.sender_ns = Some(next_ns);
        Ok(())
    }

    fn consumer_runs_from(&mut self, start_ns: u64) {
        if self.in_ring() > 0 {
            self.consumer_ns = Some(start_ns + self.config.consumer_ns);
        }
    }

    fn finish(&mut self, now_ns: u64) -> Result<(), Error> {
        self.pings.finished(self.finished, now_ns);
        self.finished += 1;
        self.pending += 1;
        self.polled += 1;
        let is_over = self.polled == self.config.poll || self.in_ring() == 0;
        let mut now_ns = now_ns;
        let tells = match self.config.told {
            Told::Each => true,
            Told::Poll => is_over,
            Told::After(after_ns) => {
                self.timer_ns.get_or_insert(now_ns + after_ns);
                self.ledger.is_above(self.pending)
            }
        };
        if tells && self.tell(now_ns)? {
            now_ns += self.config.wake_ns;
        }
        self.consumer_ns = None;
        if is_over {
            self.polled = 0;
            if self.config.core == Core::Shared && self.can_send() {
                self.sender_runs_from(now_ns + self.config.switch_ns);
                return Ok(());
            }
        }
        self.consumer_runs_from(now_ns);
        Ok(())
    }

    fn can_send(&self) -> bool {
        self.ledger.has_room() && self.in_ring() < u64::from(self.config.ring)
    }

    fn sender_runs_from(&mut self, start_ns: u64) {
        self.sender_ns = Some(start_ns);
        self.rounds
            .returned(start_ns, self.finished, self.config.warm_ns);
    }

    /// Says whether that woke the sender on another core.
    fn tell(&mut self, now_ns: u64) -> Result<bool, Error> {
        self.timer_ns = None;
        self.ledger.told(self.pending, now_ns)?;
        self.pending = 0;
        if self.sender_ns.is_some() || !self.can_send() {
            return Ok(false);
        }
        let wakes = self.config.core == Core::Own;
        if wakes {
            self.sender_runs_from(now_ns + self.config.wake_ns + self.config.switch_ns);
        } else if self.consumer_ns.is_none() && self.in_ring() == 0 {
            // The core was idle, waiting for the timer.
            self.sender_runs_from(now_ns + self.config.switch_ns);
        }
        Ok(wakes)
    }

    fn seen(mut self) -> Seen {
        let (in_flight_mean, limit_p50) = self.ledger.close(self.config.end_ns);
        Seen {
            packets_per_s: self.rounds.packets_per_s(),
            in_flight_mean,
            limit_p50,
            ping_ns: self.pings.delays_ns,
            queued: self.queued,
            finished: self.finished,
            told: self.finished - u64::from(self.pending),
        }
    }
}

/// The first and the last return of the sender in the measured time, and what was finished by then.
#[derive(Debug, Default)]
struct Rounds {
    first: Option<(u64, u64)>,
    last: (u64, u64),
}

impl Rounds {
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
    /// The packet that each of them is, and when it was sent.
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
