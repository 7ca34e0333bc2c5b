//! Sends through a transmit queue over any driver, and accounts for every packet whatever happens to
//! the link.

mod ends;
mod feed;
mod outcome;
mod trouble;

use std::os::fd::AsFd;

use taut_linux::link::{Condition, LinkWatch, Tally};
use taut_linux::publish::About;
use taut_linux::sched::{self, monotonic_ns};
use taut_linux::{Frames, NetNs, Port, link, poll};
use taut_path::driver::Truth;
use taut_path::limit::{Limit, Unit};
use taut_path::queue::CompleteError;
use taut_path::{AnyLimit, AnyQdisc, Queue, QueueConfig, Stop};

use super::live::{Line, Shown};
use super::source::Source;
use crate::interrupt;
use crate::publish::Published;
use ends::{Ends, Gauge, SentTimes};
use feed::{Feed, More, WAITING_PACKETS};
pub use outcome::Outcome;
use outcome::{Mark, Measured};
use trouble::Trouble;

/// The longest sleep, in ns: how late Ctrl-C may be noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;
/// Between two looks at the link, in ns; news of it is heard at once.
const LOOK_NS: u64 = 1_000_000;
/// After a call that failed, before it is tried again, in ns.
const RETRY_NS: u64 = 1_000_000;

/// What is sent, and how.
pub struct Settings {
    pub qdisc: AnyQdisc,
    pub limit: AnyLimit,
    /// The discipline looks at what a packet is.
    pub classify: bool,
    /// How far apart completions are asked for, in ns.
    pub cadence_ns: u64,
    /// The age of the oldest packet in flight that is too old, in ns.
    pub stall_ns: u64,
    pub count: Option<u64>,
    pub rate_bits_per_s: Option<u64>,
    /// How long, from the first packet on, in ns.
    pub duration_ns: Option<u64>,
    /// What of that is not measured, in ns.
    pub warm_up_ns: u64,
    /// Show a line that changes, and say what completions mean.
    pub live: bool,
}

/// Sends what the source has.
pub struct Engine<P: Port, F: Frames> {
    ns: NetNs,
    queue: Queue<P, AnyLimit, AnyQdisc, Gauge>,
    frames: F,
    ends: Ends<F>,
    feed: Feed,
    watch: LinkWatch,
    tally: Tally,
    tally_bytes: Tally,
    trouble: Trouble,
    limit_name: String,
    limit_unit: Unit,
    cadence_ns: u64,
    next_round_ns: u64,
    next_look_ns: u64,
    /// The last round had something.
    moved: bool,
    /// What was said last of the completions.
    said_truth: Truth,
    /// Nobody wants to hear of it.
    is_quiet: bool,
    measured: Measured,
    published: Published,
    line: Option<Line>,
}

/// Why it ended, if not because everything was sent.
type Failed = String;

impl<P: Port, F: Frames> Engine<P, F> {
    /// # Errors
    /// If the device is not there (any more), or the settings do not fit the ring.
    pub fn new(
        ns: &NetNs,
        port: P,
        frames: F,
        watch: LinkWatch,
        source: Source,
        settings: Settings,
    ) -> anyhow::Result<Self> {
        let now_ns = monotonic_ns();
        let mtu_bytes = link::describe(ns, port.device())?.mtu_bytes;
        let sent = SentTimes::new(frames.frames());
        let (limit_name, limit_unit) = (settings.limit.to_string(), settings.limit.unit());
        let published = Published::new(&About {
            device: port.device(),
            queue: 0,
            limit: &limit_name,
            in_packets: limit_unit == Unit::Packets,
            rate_bits_per_s: None,
        });
        let trouble = Trouble::new(watch.index(), settings.stall_ns);
        let queue = Queue::builder_for(port)
            .qdisc(settings.qdisc)
            .limit(settings.limit)
            .probe(Gauge::new(sent.clone(), now_ns))
            .config(QueueConfig {
                stall_threshold_ns: settings.stall_ns,
                ..QueueConfig::default()
            })
            .build(now_ns)?;
        Ok(Self {
            ns: ns.clone(),
            queue,
            ends: Ends::new(frames.clone(), sent),
            frames,
            feed: Feed::new(
                source,
                settings.count,
                settings.rate_bits_per_s,
                settings.classify,
                mtu_bytes,
            ),
            watch,
            tally: Tally::default(),
            tally_bytes: Tally::default(),
            trouble,
            limit_name,
            limit_unit,
            cadence_ns: settings.cadence_ns,
            next_round_ns: now_ns,
            next_look_ns: now_ns,
            moved: false,
            said_truth: Truth::Unknown,
            is_quiet: !settings.live,
            measured: Measured::new(now_ns, settings.warm_up_ns, settings.duration_ns),
            published,
            line: settings.live.then(Line::new),
        })
    }

    /// Sends until there is nothing more, somebody asks the process to end, or the device is gone for
    /// good.
    pub fn run(mut self) -> Outcome {
        // What cannot be made exact is less exact.
        let _ = sched::precise_timers();
        let failed = loop {
            match self.step() {
                Ok(true) => break None,
                Ok(false) => {}
                Err(failed) => break Some(failed),
            }
        };
        let now_ns = monotonic_ns();
        self.queue.probe_mut().end(now_ns);
        self.line = None;
        self.outcome(failed)
    }

    /// One turn: what came back, what goes out, and a sleep if neither can go on. True when all is done.
    fn step(&mut self) -> Result<bool, Failed> {
        let now_ns = monotonic_ns();
        self.keep_time(now_ns);
        if now_ns >= self.next_round_ns || self.finishes_at_once() {
            self.round(now_ns)?;
        }
        if now_ns >= self.next_look_ns {
            self.look(now_ns)?;
        }
        if self.is_done() {
            // What came back since the last look is confirmed by this one.
            self.look(now_ns)?;
            return Ok(self.is_done());
        }
        let wakeup_ns = self.send(now_ns);
        self.show(now_ns);
        self.published.look(now_ns, &self.queue);
        if let Some(wakeup_ns) = wakeup_ns {
            let latest_ns = now_ns + LONGEST_SLEEP_NS;
            let news = poll::wait(&[self.watch.as_fd()], Some(wakeup_ns.min(latest_ns)));
            if news.map_err(|error| error.to_string())?.any() {
                self.next_look_ns = 0;
            }
        }
        Ok(false)
    }

    /// Begins and ends the measurement, and hears who wants the process to end.
    fn keep_time(&mut self, now_ns: u64) {
        if self.measured.begins(now_ns) {
            self.queue.probe_mut().begin(now_ns);
            self.ends.latency_ns.clear();
            let mark = self.mark(now_ns);
            self.measured.begin(mark);
        }
        let is_over = self.measured.is_over(now_ns) || interrupt::noted().is_some();
        if is_over && !self.feed.is_empty() {
            let mark = self.mark(now_ns);
            self.measured.end(mark);
            self.feed.stop();
            if interrupt::noted().is_some() {
                let packets = self.packets_out();
                self.trouble.say(format_args!(
                    "waiting for {packets} packets that were taken in; once more ends at once"
                ));
            }
        }
    }

    /// Where packets are done as soon as they are sent, there is nothing to wait for.
    fn finishes_at_once(&self) -> bool {
        self.moved && !self.queue.device().completions_are_true()
    }

    /// Everything that was taken in has ended.
    fn is_done(&self) -> bool {
        self.feed.is_empty() && self.packets_out() == 0
    }

    /// Packets that were made and have not ended.
    fn packets_out(&self) -> u64 {
        let made = self.feed.submitted_packets - self.feed.refused_packets();
        made.saturating_sub(self.ends.freed_packets + self.ends.drops.total())
    }

    /// Packets that are with the device, or on their way back.
    fn with_device(&self) -> u64 {
        let waiting = self.queue.backlog().packets;
        self.packets_out().saturating_sub(waiting)
    }

    /// Takes what the device is done with.
    fn round(&mut self, now_ns: u64) -> Result<(), Failed> {
        self.next_round_ns = now_ns + self.cadence_ns;
        match self.reap(now_ns) {
            Ok(completed) => match completed.stalled {
                Some(stall) => self.stalled(stall, now_ns),
                None => Ok(()),
            },
            Err(CompleteError::Driver(error)) => self.driver_failed(&error, now_ns),
            Err(error) => {
                self.say_once(&error.to_string());
                Ok(())
            }
        }
    }

    /// What came back is counted by the queue, also where the round failed.
    fn reap(&mut self, now_ns: u64) -> Result<taut_path::Completed, CompleteError<std::io::Error>> {
        self.ends.now_ns = now_ns;
        let before = self.queue.completer_counters();
        let completed = self.queue.complete(now_ns, &mut self.ends);
        let after = self.queue.completer_counters();
        let packets = after.completed_packets - before.completed_packets;
        self.tally.reaped(packets);
        self.tally.late(after.stale_packets - before.stale_packets);
        self.tally_bytes
            .reaped(after.completed_bytes - before.completed_bytes);
        self.moved = packets > 0;
        if self.moved {
            self.trouble.progress();
            self.measured.completed(now_ns);
        }
        completed
    }

    /// Takes packets in and sends as many as the limit and the ring let through. Returns when to come
    /// back, or `None` for at once.
    fn send(&mut self, now_ns: u64) -> Option<u64> {
        if let Some(wait_ns) = self.trouble.waits_until(self.watch.condition(), now_ns) {
            return Some(wait_ns);
        }
        while self.queue.backlog().packets < WAITING_PACKETS {
            let Some(packet) = self.feed.next(&self.frames, now_ns) else {
                break;
            };
            if let Err(no_room) = self.queue.offer(packet, now_ns, &mut self.ends) {
                self.feed.hold(no_room);
                break;
            }
        }
        match self.queue.run(now_ns, &mut self.ends) {
            Stop::Failed(error) => {
                // A device that is gone for good is found out by the look.
                let _ = self.driver_failed(&error, now_ns);
                Some(now_ns + RETRY_NS)
            }
            Stop::NotReady(at_ns) => Some(at_ns.min(self.next_round_ns)),
            Stop::Idle => match self.feed.more(now_ns) {
                More::Now if self.frames.free_frames() > 0 => None,
                More::At(at_ns) => Some(at_ns.min(self.next_round_ns)),
                More::Now | More::Never => Some(self.next_round_ns),
            },
            _ if self.finishes_at_once() => None,
            _ => Some(self.next_round_ns),
        }
    }

    /// Drops what waits in front of the ring.
    fn flush(&mut self, now_ns: u64) {
        self.feed.flush(&mut self.ends);
        self.queue.flush(now_ns, &mut self.ends);
    }

    /// Says what completions mean, when that changes.
    fn tell_truth(&mut self) {
        let truth = self.queue.device().truth();
        if self.is_quiet {
            return;
        }
        let device = self.queue.device().device();
        let name = &self.limit_name;
        let is_off = match name.as_str() {
            "off" => String::new(),
            name => format!(". No limit can hold where that is so: {name} is off"),
        };
        match (self.said_truth, truth) {
            (_, Truth::False) if self.said_truth != Truth::False => self.trouble.say(format_args!(
                "the completions of {device} are false: packets are reported done as soon as they are \
                 handed over, wherever they are then (a plain veth, a bridge){is_off}"
            )),
            (Truth::False, Truth::True) => self.trouble.say(format_args!(
                "the completions of {device} are true after all: the limit {name} holds"
            )),
            _ => {}
        }
        self.said_truth = truth;
    }

    fn show(&mut self, now_ns: u64) {
        let Some(line) = &mut self.line else { return };
        if !line.is_due(now_ns) {
            return;
        }
        let snapshot = self.queue.snapshot();
        let is_running = self.watch.condition() == Condition::Running;
        let shown = Shown {
            device: self.queue.device().device(),
            condition: (!is_running).then(|| self.watch.condition()),
            limit: (!snapshot.early_completions).then_some((snapshot.limit, self.limit_unit)),
            in_flight_bytes: self.queue.probe().in_flight_now(),
            packets: self.tally.completed + self.tally.unconfirmed,
            bytes: self.tally_bytes.completed + self.tally_bytes.unconfirmed,
            latency_ns: (self.ends.recent_packets > 0)
                .then(|| self.ends.recent_latency_ns / self.ends.recent_packets),
        };
        (self.ends.recent_latency_ns, self.ends.recent_packets) = (0, 0);
        line.show(&shown, now_ns);
    }

    fn mark(&self, now_ns: u64) -> Mark {
        Mark {
            at_ns: now_ns,
            packets: self.tally.completed + self.tally.unconfirmed,
            bytes: self.tally_bytes.completed + self.tally_bytes.unconfirmed,
        }
    }
}

#[cfg(test)]
mod tests;
