//! Both directions on one thread, and what happens to the interfaces meanwhile.

use std::io;

use taut_linux::{NetNs, poll, sched};

use super::board::Board;
use super::check::check;
use super::interface::{Interface, LINK_HEADER_BYTES, Wanted};
use super::lane::{Lane, LaneConfig, Renewal, SPARE_FRAMES};
use super::links::{Change, State, Watched, is_missing};
use super::options::PathOptions;

/// The longest sleep: how late the end may be noticed.
const LONGEST_SLEEP_NS: u64 = 20_000_000;
/// How often to look at the interfaces even if there is no news.
const LOOK_NS: u64 = 100_000_000;
/// How often others see figures.
const PUBLISH_NS: u64 = 20_000_000;
/// Without a completion for so long a ring is given up: its completions are lost.
const STANDSTILL_NS: u64 = 2_000_000_000;
/// How long to wait in the end for what is in the devices.
const DRAIN_NS: u64 = 1_000_000_000;
const DRAIN_STEP_NS: u64 = 250_000;
/// Real-time priority of the forwarding thread, where it is allowed: just above ordinary work.
const PRIORITY: u8 = 1;

/// Two interfaces and what is between.
pub struct Bridge<I: Interface> {
    links: [Watched; 2],
    /// From A to B, and from B to A.
    pub lanes: [Lane<I>; 2],
    next_look_ns: u64,
    /// A look is due at once.
    has_news: bool,
    next_publish_ns: u64,
    /// The last failure that was told, so that each is told once.
    told: Option<String>,
}

/// Who hears of what happens.
pub trait Listener {
    /// A sentence for people.
    fn say(&self, text: String);
    /// Another interface has the name now: what was set on the old one is not set on this.
    fn replaced(&self) {}
}

impl<I: Interface> Bridge<I> {
    /// Opens both interfaces, in both directions.
    pub fn open(ns: &NetNs, names: [&str; 2], path: &PathOptions) -> anyhow::Result<Self> {
        let (found, _) = check(ns, names)?;
        let now_ns = sched::monotonic_ns();
        let rate = |to: usize| {
            let rates = path.rate?;
            Some([rates.to_a, rates.to_b][to].0)
        };
        let longest = found[0].mtu_bytes.max(found[1].mtu_bytes);
        let interface = |at: usize| {
            let wanted = Wanted {
                ns,
                device: names[at],
                ring_slots: path.ring,
                frames: path.waiting_packets() + path.ring + SPARE_FRAMES,
                super_packets: path.super_packets(),
                // One may be raised to the other's.
                frame_bytes: longest + LINK_HEADER_BYTES,
            };
            I::open(&wanted)
        };
        let lane = |from: usize, to: usize, source, ring| {
            let config = LaneConfig {
                from: names[from],
                to: names[to],
                path,
                rate_bits_per_s: rate(to),
            };
            Lane::new(&config, source, ring, now_ns)
        };
        // First: what happens from here on is heard of.
        let links = [Watched::open(ns, names[0])?, Watched::open(ns, names[1])?];
        let (a, b) = (interface(0)?, interface(1)?);
        let mut lanes = [
            lane(0, 1, a.source, (b.port, b.frames))?,
            lane(1, 0, b.source, (a.port, a.frames))?,
        ];
        for (at, link) in links.iter().enumerate() {
            if link.state() == State::Up {
                lanes[towards(at)].open_link(now_ns);
            }
        }
        Ok(Self {
            links,
            lanes,
            next_look_ns: now_ns,
            has_news: false,
            next_publish_ns: now_ns,
            told: None,
        })
    }

    /// Forwards until `is_over`, then drains.
    pub fn run(
        &mut self,
        board: &Board,
        listener: &dyn Listener,
        is_over: impl Fn() -> bool,
    ) -> io::Result<()> {
        sched::precise_timers()?;
        // Not allowed to everybody. Without it latencies are a little worse.
        let _ = sched::realtime_priority(PRIORITY);
        let mut readable = [false; 2];
        while !is_over() {
            let now_ns = sched::monotonic_ns();
            self.reap(now_ns, listener);
            self.look(now_ns, listener);
            for (lane, readable) in self.lanes.iter_mut().zip(&mut readable) {
                let turn = lane.turn(now_ns, *readable);
                *readable = turn.more;
                if let Some(error) = turn.failed {
                    tell(&mut self.told, &error, listener);
                }
            }
            if now_ns >= self.next_publish_ns {
                self.next_publish_ns = now_ns + PUBLISH_NS;
                self.publish(board);
            }
            // Also while one has more: the other must have its turn.
            let until_ns = if readable.contains(&true) {
                0
            } else {
                self.wakeup_ns(now_ns)
            };
            readable = self.wait(until_ns, readable)?;
        }
        self.drain(listener);
        self.publish(board);
        Ok(())
    }

    fn publish(&mut self, board: &Board) {
        for (lane, board) in self.lanes.iter_mut().zip(board) {
            lane.count_missed();
            lane.publish(board);
        }
    }

    fn wakeup_ns(&self, now_ns: u64) -> u64 {
        let wakeups = self.lanes.iter().filter_map(Lane::next_wakeup_ns);
        let latest_ns = (now_ns + LONGEST_SLEEP_NS).min(self.next_look_ns);
        wakeups.fold(latest_ns, u64::min)
    }

    /// Waits until a lane has something to receive, and adds those to the `readable` ones, or until there
    /// is news of an interface.
    fn wait(&mut self, until_ns: u64, mut readable: [bool; 2]) -> io::Result<[bool; 2]> {
        let sources: Vec<_> = self.lanes.iter().map(Lane::source).collect();
        let received = sources.iter().flatten().copied();
        let fds: Vec<_> = received.chain(self.links.iter().map(Watched::fd)).collect();
        let ready = poll::wait(&fds, Some(until_ns))?;
        let mut position = 0;
        for (source, readable) in sources.iter().zip(&mut readable) {
            if source.is_some() {
                *readable |= ready.is_ready(position);
                position += 1;
            }
        }
        self.has_news = (position..fds.len()).any(|link| ready.is_ready(link));
        Ok(readable)
    }

    fn reap(&mut self, now_ns: u64, listener: &dyn Listener) {
        for lane in &mut self.lanes {
            if let Err(error) = lane.reap(now_ns) {
                tell(&mut self.told, &error, listener);
            }
        }
    }

    /// Finds out what happened to the interfaces, and acts on it: in time, and after each completion, which
    /// counts only then.
    fn look(&mut self, now_ns: u64, listener: &dyn Listener) {
        let is_due = now_ns >= self.next_look_ns || self.has_news;
        if is_due {
            self.next_look_ns = now_ns + LOOK_NS;
        }
        for at in 0..self.links.len() {
            if !is_due && !self.lanes[towards(at)].is_unconfirmed() {
                continue;
            }
            match self.links[at].look() {
                Ok(look) => {
                    self.lanes[towards(at)].looked(look.was_broken);
                    for change in look.changes {
                        if let Err(error) = self.act(at, change, now_ns, listener) {
                            self.retry(at, now_ns, &error, listener);
                            break;
                        }
                    }
                }
                Err(error) => tell(&mut self.told, &error, listener),
            }
        }
        if is_due {
            self.watch_for_standstill(now_ns, listener);
        }
    }

    fn watch_for_standstill(&mut self, now_ns: u64, listener: &dyn Listener) {
        for at in 0..self.links.len() {
            let lane = &mut self.lanes[towards(at)];
            let still_ns = lane.stands_still_ns(now_ns);
            if still_ns <= STANDSTILL_NS {
                continue;
            }
            listener.say(format!(
                "{}: nothing came back for {} ms; its ring is made anew",
                lane.to,
                still_ns / 1_000_000
            ));
            if let Err(error) = self.reopen(at, Renewal::SameDevice, now_ns) {
                self.retry(at, now_ns, &error, listener);
            }
        }
    }

    /// An interface could not be opened again: the next look finds it as if it came back just then.
    fn retry(&mut self, at: usize, now_ns: u64, error: &io::Error, listener: &dyn Listener) {
        tell(&mut self.told, error, listener);
        self.lanes[towards(at)].close_link(now_ns);
        self.links[at].still_gone();
    }

    fn act(
        &mut self,
        at: usize,
        change: Change,
        now_ns: u64,
        listener: &dyn Listener,
    ) -> io::Result<()> {
        let name = self.links[at].name().to_owned();
        let (to, from) = (towards(at), at);
        match change {
            Change::Up => {
                self.told = None;
                self.lanes[to].open_link(now_ns);
                listener.say(format!("{name} is up"));
            }
            Change::Down => {
                self.lanes[to].close_link(now_ns);
                listener.say(format!("{name} is down; waiting until it is up"));
            }
            Change::Gone => {
                self.lanes[to].close_link(now_ns);
                self.lanes[from].close_source(now_ns);
                listener.say(format!("{name} is gone; waiting until it is back"));
            }
            Change::Back => {
                self.reopen(at, Renewal::AnotherDevice, now_ns)?;
                listener.say(format!("{name} is back"));
                listener.replaced();
            }
            Change::Mtu(mtu_bytes) => {
                listener.say(format!("{name} has an MTU of {mtu_bytes} now"));
                self.reopen(at, Renewal::SameDevice, now_ns)?;
            }
        }
        Ok(())
    }

    fn reopen(&mut self, at: usize, renewal: Renewal, now_ns: u64) -> io::Result<()> {
        let [from_a, from_b] = &mut self.lanes;
        let (to, from) = if at == 0 {
            (from_b, from_a)
        } else {
            (from_a, from_b)
        };
        Lane::reopen(to, from, renewal, now_ns)
    }

    /// Nothing new comes in; what is in the devices may leave.
    fn drain(&mut self, listener: &dyn Listener) {
        let start_ns = sched::monotonic_ns();
        for lane in &mut self.lanes {
            lane.flush(start_ns);
        }
        let mut now_ns = start_ns;
        loop {
            self.reap(now_ns, listener);
            self.look(now_ns, listener);
            if now_ns > start_ns + DRAIN_NS || !self.lanes.iter().any(Lane::is_draining) {
                break;
            }
            for lane in &mut self.lanes {
                lane.turn(now_ns, false);
            }
            let _ = poll::wait(&[], Some(now_ns + DRAIN_STEP_NS));
            now_ns = sched::monotonic_ns();
        }
        for lane in &mut self.lanes {
            lane.give_up();
        }
    }
}

/// The lane that goes to an interface.
const fn towards(at: usize) -> usize {
    1 - at
}

/// Each failure once, until it is over.
fn tell(told: &mut Option<String>, error: &io::Error, listener: &dyn Listener) {
    // Down: the look at the interface says so.
    if matches!(error.kind(), io::ErrorKind::NetworkDown) || is_missing(error) {
        return;
    }
    let text = error.to_string();
    if told.as_ref() != Some(&text) {
        listener.say(text.clone());
        *told = Some(text);
    }
}
