//! Plays completion traces to a rule, as the transmit queue would.

use std::collections::VecDeque;

use crate::support::rule::Ruled;
use taut_path::limit::{Fixed, Limit};

const PS_PER_NS: u64 = 1_000;

/// The interrupts of a device, its arrivals and its rates.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// Bytes per us, and the time from which they apply, in ns.
    pub rates: Vec<(u64, f64)>,
    /// Sizes of objects, used round-robin.
    pub object_bytes: Vec<u32>,
    /// Maximum number of objects per reap; 0 is unlimited.
    pub budget: u32,
    /// Delay of the next reap after the budget was used up, in ns.
    pub poll_ns: u64,
    /// Arrivals: (period in ns, objects); otherwise the sender always has an object.
    pub burst: Option<(u64, u32)>,
    /// The sender reports being blocked whenever there is no room, even with nothing to send.
    pub lies: bool,
    /// Warm-up time that is not measured, in ns.
    pub warm_ns: u64,
    /// Intervals between interrupts, and the delay of a blocked sender, in ns.
    pub interrupts: Vec<(u64, u64)>,
}

impl Pattern {
    /// 1 Gbit/s and full packets.
    pub fn saturated(interrupts: Vec<(u64, u64)>, warm_ns: u64) -> Self {
        Self {
            rates: vec![(0, 125.0)],
            object_bytes: vec![1514],
            budget: 0,
            poll_ns: 3_000,
            burst: None,
            lies: false,
            warm_ns,
            interrupts,
        }
    }
}

/// The results over the measured time.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Time-averaged bytes in the device.
    pub mean_bytes: f64,
    /// Fraction of the time with something to send in which the device was busy.
    pub utilisation: f64,
    /// Link time lost during the warm-up, in ns.
    pub lost_warm_ns: u64,
    /// The limit after each completion batch: time and value.
    pub limits: Vec<(u64, u32)>,
}

struct Player<'a, L: Limit> {
    pattern: &'a Pattern,
    ruled: Ruled<L>,
    /// Bytes, and the completion time, in ps.
    ring: VecDeque<(u32, u64)>,
    done_ps: u64,
    objects: usize,
    rate: usize,
    backlog: u64,
    /// Time since when there was something to send and nothing in the device, in ps.
    starved_since_ps: Option<u64>,
    queue_byte_ps: f64,
    busy_ps: u64,
    lost_ps: u64,
    warm: bool,
    lost_warm_ps: u64,
    limits: Vec<(u64, u32)>,
}

/// Plays the whole trace.
pub fn play<L: Limit>(pattern: &Pattern, limit: L) -> Played {
    let mut player = Player::<L> {
        pattern,
        ruled: Ruled::new(limit),
        ring: VecDeque::new(),
        done_ps: 0,
        objects: 0,
        rate: 0,
        backlog: 0,
        starved_since_ps: None,
        queue_byte_ps: 0.0,
        busy_ps: 0,
        lost_ps: 0,
        warm: false,
        lost_warm_ps: 0,
        limits: Vec::new(),
    };
    player.run();
    let measured_ps = player.now_end_ps() - pattern.warm_ns * PS_PER_NS;
    Played {
        mean_bytes: player.queue_byte_ps / measured_ps as f64,
        utilisation: player.busy_ps as f64 / (player.busy_ps + player.lost_ps) as f64,
        lost_warm_ns: player.lost_warm_ps / PS_PER_NS,
        limits: player.limits,
    }
}

impl<L: Limit> Player<'_, L> {
    fn now_end_ps(&self) -> u64 {
        let gaps = self.pattern.interrupts.iter().map(|&(gap_ns, _)| gap_ns);
        gaps.sum::<u64>() * PS_PER_NS
    }

    fn run(&mut self) {
        let mut interrupts = self.pattern.interrupts.iter();
        let mut interrupt_ns = 0;
        let mut delay_ns = 0;
        let mut next = interrupts.next();
        if let Some(&(gap_ns, _)) = next {
            interrupt_ns = gap_ns;
        }
        let mut poll_ns = None;
        let mut burst_ns = self.pattern.burst.map(|_| 0);
        let mut sender_ns = Some(0);
        let mut waits = false;
        // Batches smaller than the device's rate would never end.
        let last_poll_ns = self.now_end_ps() / PS_PER_NS + 10_000_000;
        while next.is_some() || poll_ns.is_some_and(|at_ns| at_ns < last_poll_ns) {
            let interrupt = next.map(|_| interrupt_ns);
            let now_ns = [burst_ns, poll_ns, interrupt, sender_ns]
                .into_iter()
                .flatten()
                .min()
                .expect("an interrupt or a poll");
            self.warm_up(now_ns);
            if burst_ns == Some(now_ns) {
                let (period_ns, objects) = self.pattern.burst.expect("there are bursts");
                burst_ns = Some(now_ns + period_ns);
                self.offered(u64::from(objects), now_ns);
                // More arrivals do not wake a blocked sender.
                if !waits {
                    sender_ns = Some(now_ns);
                }
            } else if poll_ns == Some(now_ns) || interrupt == Some(now_ns) {
                let polled = poll_ns == Some(now_ns);
                if !polled {
                    let (_, delay) = *next.expect("it is due");
                    delay_ns = delay;
                    next = interrupts.next();
                    interrupt_ns += next.map_or(0, |&(gap_ns, _)| gap_ns);
                }
                // An interrupt during a reap is masked.
                if polled || poll_ns.is_none() {
                    let more = self.reap(now_ns);
                    poll_ns = more.then_some(now_ns + self.pattern.poll_ns);
                    if waits && self.ruled.has_room() && sender_ns.is_none() {
                        sender_ns = Some(now_ns + delay_ns);
                    }
                }
            } else {
                sender_ns = None;
                waits = self.send(now_ns);
            }
        }
        let end_ns = self.now_end_ps() / PS_PER_NS;
        self.account_starved(end_ns * PS_PER_NS);
    }

    fn warm_up(&mut self, now_ns: u64) {
        if !self.warm && now_ns >= self.pattern.warm_ns {
            self.account_starved(now_ns * PS_PER_NS);
            self.warm = true;
            self.lost_warm_ps = self.lost_ps;
            (self.queue_byte_ps, self.busy_ps, self.lost_ps) = (0.0, 0, 0);
        }
    }

    fn has_data(&self) -> bool {
        self.pattern.burst.is_none() || self.backlog > 0
    }

    fn offered(&mut self, objects: u64, now_ns: u64) {
        if self.starved_since_ps.is_none() {
            self.starved_since_ps = Some(now_ns * PS_PER_NS);
        }
        self.backlog += objects;
    }

    /// Counts the work that the device could have done until now.
    fn account_starved(&mut self, now_ps: u64) {
        if let Some(since_ps) = self.starved_since_ps.take() {
            self.lost_ps += now_ps.saturating_sub(since_ps.max(self.done_ps));
        }
        if self.has_data() {
            self.starved_since_ps = Some(now_ps);
        }
    }

    fn reap(&mut self, now_ns: u64) -> bool {
        let (mut packets, mut bytes) = (0, 0);
        let budget = match self.pattern.budget {
            0 => u32::MAX,
            budget => budget,
        };
        let mut more = false;
        while let Some(&(object_bytes, done_ps)) = self.ring.front() {
            if done_ps > now_ns * PS_PER_NS {
                break;
            }
            more = packets == budget;
            if more {
                break;
            }
            packets += 1;
            bytes += object_bytes;
            self.ring.pop_front();
        }
        self.ruled.completed(bytes, now_ns, more);
        self.limits.push((now_ns, self.ruled.limit()));
        more
    }

    /// Sends while there is room. Returns `true` if something waits for room.
    fn send(&mut self, now_ns: u64) -> bool {
        let now_ps = now_ns * PS_PER_NS;
        self.account_starved(now_ps);
        while let Some(&(at_ns, _)) = self.pattern.rates.get(self.rate + 1)
            && at_ns <= now_ns
        {
            self.rate += 1;
        }
        let (_, bytes_per_us) = self.pattern.rates[self.rate];
        while self.has_data() && self.ruled.has_room() {
            let bytes = self.pattern.object_bytes[self.objects % self.pattern.object_bytes.len()];
            self.objects += 1;
            self.ruled.queued(bytes, now_ns).expect("countable");
            self.backlog = self.backlog.saturating_sub(1);
            let work_ps = (f64::from(bytes) * 1e6 / bytes_per_us) as u64;
            self.done_ps = self.done_ps.max(now_ps) + work_ps;
            self.busy_ps += work_ps;
            self.queue_byte_ps += f64::from(bytes) * (self.done_ps - now_ps) as f64;
            self.ring.push_back((bytes, self.done_ps));
        }
        if !self.has_data() {
            self.starved_since_ps = None;
            if self.pattern.lies && !self.ruled.has_room() {
                self.ruled.refused();
            }
            return false;
        }
        self.ruled.refused();
        true
    }
}

/// Returns the smallest fixed limit with at least that utilisation, and its results.
pub fn optimum(pattern: &Pattern, utilisation: f64) -> (u32, Played) {
    let (mut low, mut high) = (0_u32, 1_u32 << 24);
    let mut best = None;
    while low < high {
        let middle = low.midpoint(high);
        let played = play(pattern, Fixed::bytes(middle));
        if played.utilisation >= utilisation {
            high = middle;
            best = Some(played);
        } else {
            low = middle + 1;
        }
    }
    (
        high,
        best.unwrap_or_else(|| play(pattern, Fixed::bytes(high))),
    )
}
