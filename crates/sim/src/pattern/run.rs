//! The loop of a run: takes the earliest of what is due, until the end.

use std::convert::Infallible;
use std::fmt;

use taut_path::limit::Limit;
use taut_path::queue::{QueueConfigError, Reaper, Sender, split};
use taut_path::{Completions, DropReason, Packet, PacketSink, Probe, QueueConfig};

use super::book::Book;
use super::random::SplitMix;
use super::seen::{Samples, Seen};
use super::source::{Source, Waiting};
use super::wire::Wire;
use super::{Interval, Pattern};

/// Slots of the ring where nothing else holds the queue back: that of the two 10G cards of the
/// published experiments.
pub const RING_SLOTS_OFF: u32 = 4_096;

/// Slots that no limit of the estimator's range fills with packets of a usual size.
const RING_SLOTS_LIMITED: u32 = 1 << 30;

/// How closely a run is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Slots of each ring.
    pub slots: u32,
    /// One look at the queue in each such time, at a random moment of it, in ns; 0 never looks.
    pub sample_ns: u64,
    /// Whether each change of the limit is kept.
    pub course: bool,
    /// The run ends early once the wire was dry for longer than this in the measured time, in ns.
    pub give_up_dry_ns: u64,
}

impl Detail {
    /// Everything, with a sample in each 100 us, as often as an interrupt as a rule.
    pub const FULL: Self = Self {
        slots: RING_SLOTS_LIMITED,
        sample_ns: 100_000,
        course: true,
        give_up_dry_ns: u64::MAX,
    };

    /// Everything, where only the ring holds the queue back.
    pub const OFF: Self = Self {
        slots: RING_SLOTS_OFF,
        ..Self::FULL
    };
}

/// Why a run cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunError {
    /// The queue or its limit cannot be made.
    Queue(QueueConfigError),
    /// The pattern lacks what every run needs; says what.
    Empty(&'static str),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(error) => error.fmt(f),
            Self::Empty(what) => write!(f, "the pattern has no {what}; at least one is needed"),
        }
    }
}

impl std::error::Error for RunError {}

/// Counts what comes back.
#[derive(Default)]
struct Sink {
    freed: u64,
}

impl PacketSink for Sink {
    fn freed(&mut self, packet: Packet) {
        let _ = packet.into_frame();
        self.freed += 1;
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = packet.into_frame();
    }
}

/// Keeps the changes of a limit.
#[derive(Default)]
struct Course {
    keep: bool,
    changes: Vec<(u64, u32)>,
}

impl Probe for Course {
    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        if self.keep && self.changes.last().is_none_or(|&(_, last)| last != limit) {
            self.changes.push((now_ns, limit));
        }
    }
}

/// A device that was not asked: for the limit's own timer.
struct NotAsked;

impl Completions for NotAsked {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        0
    }

    fn reap(&mut self, _: u64, _: u32, _: &mut dyn FnMut(Packet)) -> Result<bool, Infallible> {
        Ok(false)
    }
}

/// What can be due, in the order in which it happens at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Rate,
    Burst(usize),
    Interrupt(usize),
    Poll(usize),
    Tick(usize),
    Back(usize),
    Sample,
}

/// One queue, and when it does what.
struct Queue<L: Limit, I> {
    sender: Sender<L>,
    reaper: Reaper<L>,
    waiting: Waiting,
    course: Course,
    intervals: I,
    interrupt_ns: Option<u64>,
    /// How late the sender comes back after the interrupt that is next, and after the last.
    next_delay_ns: u64,
    delay_ns: u64,
    poll_ns: Option<u64>,
    back_ns: Option<u64>,
    /// Packets of high priority that wait for room: when each came.
    urgent_ns: Vec<u64>,
}

impl<L: Limit, I: Iterator<Item = Interval>> Queue<L, I> {
    fn plan_interrupt(&mut self, after_ns: u64) {
        let next = self.intervals.next();
        self.interrupt_ns = next.and_then(|it| after_ns.checked_add(it.gap_ns));
        self.next_delay_ns = next.map_or(0, |it| it.delay_ns);
    }

    fn next_due(&self, at: usize) -> Option<(u64, Due)> {
        let mut first = self.interrupt_ns.map(|ns| (ns, Due::Interrupt(at)));
        let rare = [
            (self.poll_ns, Due::Poll(at)),
            (self.reaper.next_wakeup(), Due::Tick(at)),
            (self.back_ns, Due::Back(at)),
        ];
        for (at_ns, due) in rare {
            if let Some(at_ns) = at_ns
                && first.is_none_or(|first| (at_ns, due) < first)
            {
                first = Some((at_ns, due));
            }
        }
        first
    }
}

struct Run<'p, L: Limit, I> {
    pattern: &'p Pattern,
    detail: Detail,
    queues: Vec<Queue<L, I>>,
    wire: Wire,
    sink: Sink,
    rate_at: usize,
    bursts_ns: Vec<u64>,
    samples: Samples,
    sample_ns: Option<u64>,
    random: SplitMix,
}

/// Runs `pattern` with `limit` on each of its queues.
///
/// # Errors
/// If the pattern has no rate, no size or no queue, or the limit's settings contradict each other.
pub fn observe<L: Limit + Copy>(
    pattern: &Pattern,
    limit: L,
    detail: Detail,
) -> Result<Seen, RunError> {
    let Some(&(_, bytes_per_s)) = pattern.rates.first() else {
        return Err(RunError::Empty("rate"));
    };
    if pattern.sizes.is_empty() || pattern.queues.is_empty() {
        return Err(RunError::Empty("size or queue"));
    }
    let mut queues = Vec::new();
    for intervals in &pattern.queues {
        queues.push(queue(pattern, limit, detail, intervals.iter())?);
    }
    let book = Book::new(pattern.warm_ns, pattern.end_ns);
    let mut run = Run {
        pattern,
        detail,
        wire: Wire::new(queues.len(), detail.slots, bytes_per_s, book),
        queues,
        sink: Sink::default(),
        rate_at: 1,
        bursts_ns: vec![0; pattern.bursts.len()],
        samples: Samples::default(),
        sample_ns: None,
        // Moments to look at; any seed will do, and one seed looks at every rule alike.
        random: SplitMix::new(1),
    };
    run.plan_sample(pattern.warm_ns);
    run.run_to_end();
    Ok(run.seen())
}

fn queue<L: Limit, I: Iterator<Item = Interval>>(
    pattern: &Pattern,
    limit: L,
    detail: Detail,
    intervals: I,
) -> Result<Queue<L, I>, RunError> {
    let waiting = if pattern.bursts.is_empty() {
        Waiting::always()
    } else {
        Waiting::nothing()
    };
    let budget = match pattern.budget {
        0 => u32::MAX,
        budget => budget,
    };
    let config = QueueConfig {
        reap_budget_packets: budget,
        ..QueueConfig::new(detail.slots)
    };
    let source = Source::new(waiting.clone(), pattern.sizes.clone());
    let halves = split(Box::new(source), limit, config, 0);
    let (sender, reaper) = halves.map_err(RunError::Queue)?;
    let first_limit = (0, reaper.snapshot().limit);
    let mut queue = Queue {
        sender,
        reaper,
        waiting,
        course: Course {
            keep: detail.course,
            changes: vec![first_limit],
        },
        intervals,
        interrupt_ns: None,
        next_delay_ns: 0,
        delay_ns: 0,
        poll_ns: None,
        // A sender that has something to send does so at once.
        back_ns: pattern.bursts.is_empty().then_some(0),
        urgent_ns: Vec::new(),
    };
    queue.plan_interrupt(0);
    Ok(queue)
}

impl<L: Limit, I: Iterator<Item = Interval>> Run<'_, L, I> {
    fn run_to_end(&mut self) {
        let end_ns = self.pattern.end_ns;
        while let Some((now_ns, due)) = self.next_due()
            && now_ns < end_ns
            && self.wire.book.dry_ns <= self.detail.give_up_dry_ns
        {
            self.wire.advance(now_ns);
            match due {
                Due::Rate => self.change_rate(now_ns),
                Due::Burst(at) => self.on_burst(at, now_ns),
                Due::Interrupt(at) => self.on_interrupt(at, now_ns),
                Due::Poll(at) => self.complete(at, now_ns),
                Due::Tick(at) => self.on_tick(at, now_ns),
                Due::Back(at) => self.send(at, now_ns),
                Due::Sample => self.on_sample(now_ns),
            }
        }
        self.wire.advance(end_ns);
        self.wire.close(end_ns);
    }

    fn next_due(&self) -> Option<(u64, Due)> {
        let mut first: Option<(u64, Due)> = None;
        let mut consider = |next: Option<(u64, Due)>| {
            if let Some(next) = next
                && first.is_none_or(|first| next < first)
            {
                first = Some(next);
            }
        };
        for (at, queue) in self.queues.iter().enumerate() {
            consider(queue.next_due(at));
        }
        for (at, &at_ns) in self.bursts_ns.iter().enumerate() {
            consider(Some((at_ns, Due::Burst(at))));
        }
        let rate = self.pattern.rates.get(self.rate_at);
        consider(rate.map(|&(at_ns, _)| (at_ns, Due::Rate)));
        consider(self.sample_ns.map(|at_ns| (at_ns, Due::Sample)));
        first
    }

    fn change_rate(&mut self, now_ns: u64) {
        if let Some(&(_, bytes_per_s)) = self.pattern.rates.get(self.rate_at) {
            self.wire.set_rate(bytes_per_s, now_ns);
        }
        self.rate_at += 1;
    }

    fn on_burst(&mut self, burst: usize, now_ns: u64) {
        let burst_of = &self.pattern.bursts[burst];
        self.bursts_ns[burst] = now_ns.saturating_add(burst_of.period_ns);
        for at in 0..self.queues.len() {
            self.queues[at].waiting.add(burst_of.objects);
            // A sender that was refused, or is on its way back, sends what is new with the rest.
            let queue = &self.queues[at];
            self.wire.set_waiting(true, now_ns);
            if queue.back_ns.is_none() && !queue.sender.stopped_by_stack() {
                self.send(at, now_ns);
            }
        }
    }

    fn on_interrupt(&mut self, at: usize, now_ns: u64) {
        let queue = &mut self.queues[at];
        queue.delay_ns = queue.next_delay_ns;
        queue.plan_interrupt(now_ns);
        // While rounds go on, interrupts are masked.
        if queue.poll_ns.is_none() {
            self.complete(at, now_ns);
        }
    }

    fn complete(&mut self, at: usize, now_ns: u64) {
        let queue = &mut self.queues[at];
        queue.poll_ns = None;
        let mut port = self.wire.port(at);
        let reaper = &mut queue.reaper;
        let done = reaper.complete(&mut port, now_ns, &mut self.sink, &mut queue.course);
        // The device cannot fail and reports each packet once, so there is no error to tell of.
        let Ok(done) = done else {
            return;
        };
        if done.more {
            queue.poll_ns = now_ns.checked_add(self.pattern.poll_ns);
        }
        self.restart(at, done.schedule, now_ns);
    }

    fn on_tick(&mut self, at: usize, now_ns: u64) {
        let queue = &mut self.queues[at];
        let reaper = &mut queue.reaper;
        if let Ok(done) = reaper.complete(&mut NotAsked, now_ns, &mut self.sink, &mut queue.course)
        {
            self.restart(at, done.schedule, now_ns);
        }
    }

    /// A sender that was refused comes back, late or at once.
    fn restart(&mut self, at: usize, schedule: bool, now_ns: u64) {
        if !schedule {
            return;
        }
        let queue = &mut self.queues[at];
        match queue.delay_ns {
            0 => self.send(at, now_ns),
            delay_ns => queue.back_ns = now_ns.checked_add(delay_ns),
        }
    }

    fn send(&mut self, at: usize, now_ns: u64) {
        let queue = &mut self.queues[at];
        queue.back_ns = None;
        let ahead_ns = self.wire.ahead_ns(at, now_ns);
        for came_ns in queue.urgent_ns.drain(..) {
            self.samples.delay(now_ns - came_ns, ahead_ns);
        }
        if queue.waiting.is_empty() {
            return;
        }
        self.wire.set_waiting(true, now_ns);
        let mut port = self.wire.port(at);
        // The doorbell cannot fail; whatever stops the run, the reaper tells when to go on.
        let _stop = (queue.sender).run(&mut port, now_ns, &mut self.sink, &mut queue.course);
        let waiting = self.queues.iter().any(|queue| !queue.waiting.is_empty());
        self.wire.set_waiting(waiting, now_ns);
    }

    fn plan_sample(&mut self, from_ns: u64) {
        let period_ns = self.detail.sample_ns;
        self.sample_ns = (period_ns > 0).then(|| from_ns + self.random.next() % period_ns);
    }

    /// A packet of high priority would come now.
    fn on_sample(&mut self, now_ns: u64) {
        let at = (self.samples.count() % self.queues.len() as u64) as usize;
        self.samples
            .look(self.wire.unsent_bytes(), self.wire.in_flight_bytes());
        let queue = &mut self.queues[at];
        if queue.sender.stopped_by_stack() || queue.sender.stopped_by_driver() {
            queue.urgent_ns.push(now_ns);
        } else {
            self.samples.delay(0, self.wire.ahead_ns(at, now_ns));
        }
        let period_ns = self.detail.sample_ns;
        self.plan_sample((now_ns / period_ns + 1) * period_ns);
    }

    fn seen(self) -> Seen {
        let counters = self.queues.iter().map(|queue| queue.sender.counters());
        let limits = self.queues.iter().map(|queue| queue.reaper.snapshot());
        let starved = self.queues.iter().map(|it| it.reaper.counters().starved);
        let measured_ns = self.pattern.end_ns.saturating_sub(self.pattern.warm_ns);
        Seen {
            sent_packets: counters.map(|it| it.sent_packets).sum(),
            freed_packets: self.sink.freed,
            in_ring_packets: self.wire.packets_in_rings(),
            limit_bytes: limits.map(|it| u64::from(it.limit)).sum(),
            starved_rounds: starved.sum(),
            course: (self.queues.into_iter().next()).map_or_else(Vec::new, |it| it.course.changes),
            ..Seen::new(&self.wire.book, measured_ns, self.samples)
        }
    }
}
