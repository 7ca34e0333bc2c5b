//! Links that go down, devices that go away, completions that never come, calls that fail.

use std::fmt;
use std::io;

use taut_dql::Stall;
use taut_linux::link::{self, Condition};
use taut_linux::{Frames, Port};

use super::{Engine, Failed, LONGEST_SLEEP_NS, LOOK_NS, RETRY_NS};
use crate::interrupt;
use crate::talk::{ChangingLine, say};

/// How long a device may be away before it is gone for good, in ns.
const AWAY_NS: u64 = 500_000_000;
/// Between two tries to open a ring again, in ns.
const REOPEN_NS: u64 = 20_000_000;
/// Stalls in a row, without a completion between, after which what is left is given up.
const STALLS_LIMIT: u32 = 2;

/// What goes wrong, and what was said of it.
#[derive(Debug)]
pub struct Trouble {
    /// The device that the ring is on: another of its name has another number.
    index: u32,
    was: Condition,
    away_since_ns: Option<u64>,
    /// The ring must be opened again, not before this time, in ns.
    reopen_ns: Option<u64>,
    reopen_failed_ns: Option<u64>,
    retry_ns: u64,
    stall_ns: u64,
    stalls_in_a_row: u32,
    said: Option<String>,
}

impl Trouble {
    pub fn new(index: u32, stall_ns: u64) -> Self {
        Self {
            index,
            was: Condition::Running,
            away_since_ns: None,
            reopen_ns: None,
            reopen_failed_ns: None,
            retry_ns: 0,
            stall_ns,
            stalls_in_a_row: 0,
            said: None,
        }
    }

    /// Something was completed.
    pub fn progress(&mut self) {
        self.stalls_in_a_row = 0;
        self.said = None;
    }

    /// Until when nothing can be sent, in ns.
    pub fn waits_until(&self, condition: Condition, now_ns: u64) -> Option<u64> {
        if condition != Condition::Running {
            return Some(now_ns + LONGEST_SLEEP_NS);
        }
        let wait_ns = self.reopen_ns.unwrap_or(0).max(self.retry_ns);
        (self.reopen_ns.is_some() || wait_ns > now_ns).then_some(wait_ns)
    }

    /// Over a line that may be on the terminal.
    pub fn say(&self, text: fmt::Arguments<'_>) {
        ChangingLine::new().clear();
        say!("taut: {text}");
    }
}

impl<P: Port, F: Frames> Engine<P, F> {
    pub(super) fn say_once(&mut self, text: &str) {
        if self.trouble.said.as_deref() != Some(text) {
            self.trouble.say(format_args!("{text}"));
            self.trouble.said = Some(text.to_owned());
        }
    }

    /// Finds out what became of the link, and which completions count.
    pub(super) fn look(&mut self, now_ns: u64) -> Result<(), Failed> {
        self.next_look_ns = now_ns + LOOK_NS;
        let look = self.watch.look().map_err(|error| error.to_string())?;
        self.tally.look(look.was_broken);
        self.tally_bytes.look(look.was_broken);
        if look.was_broken && self.queue.in_flight() > 0 {
            // It may be purged and not reaped: let it come back as late.
            self.queue.reset(now_ns);
        }
        if look.condition != self.trouble.was {
            self.tell_condition(look.condition);
            self.trouble.was = look.condition;
        }
        match look.condition {
            Condition::Removed => self.is_away(now_ns)?,
            // Nobody knows when it comes up, and nobody wants to wait for that.
            Condition::Down if self.must_end(now_ns) => self.give_up(now_ns),
            Condition::Down => {}
            Condition::Running => {
                self.trouble.away_since_ns = None;
                let is_another = self.watch.index() != self.trouble.index;
                if is_another && self.trouble.reopen_ns.is_none() {
                    self.trouble.reopen_ns = Some(now_ns);
                }
                if self.trouble.reopen_ns.is_some_and(|at_ns| at_ns <= now_ns) {
                    self.reopen(now_ns)?;
                }
            }
        }
        self.tell_truth();
        Ok(())
    }

    fn must_end(&self, now_ns: u64) -> bool {
        interrupt::noted().is_some() || self.measured.is_over(now_ns)
    }

    fn tell_condition(&self, condition: Condition) {
        let device = self.watch.device();
        match condition {
            Condition::Running => self.trouble.say(format_args!("{device} is up: sending again")),
            Condition::Down => self.trouble.say(format_args!(
                "{device} is down, or has no carrier: waiting for it; what was in flight is in doubt"
            )),
            Condition::Removed => self.trouble.say(format_args!(
                "{device} is gone: what was in flight is in doubt"
            )),
        }
    }

    /// The device is not there.
    fn is_away(&mut self, now_ns: u64) -> Result<(), Failed> {
        let since_ns = match self.trouble.away_since_ns {
            Some(since_ns) => since_ns,
            None => {
                self.trouble.away_since_ns = Some(now_ns);
                self.trouble.index = 0;
                // There is nothing to open; but what was in the ring comes back.
                self.take_back(now_ns);
                now_ns
            }
        };
        if now_ns - since_ns >= AWAY_NS || interrupt::noted().is_some() {
            self.give_up(now_ns);
            return Err(format!(
                "{} is gone: there is no such device any more",
                self.watch.device()
            ));
        }
        Ok(())
    }

    /// Ends everything that is not sent: what waits is dropped, what is in the ring is in doubt.
    fn give_up(&mut self, now_ns: u64) {
        self.flush(now_ns);
        self.take_back(now_ns);
    }

    /// Opens the ring again, whatever comes of it, and takes back what was in the old one.
    fn take_back(&mut self, now_ns: u64) -> Option<io::Error> {
        // What is really done is no part of it.
        let _ = self.reap(now_ns);
        self.queue.reset(now_ns);
        let opened = self.queue.device_mut().reopen().err();
        while self
            .reap(now_ns)
            .is_ok_and(|completed| completed.more_pending)
        {}
        opened
    }

    fn reopen(&mut self, now_ns: u64) -> Result<(), Failed> {
        let Some(error) = self.take_back(now_ns) else {
            self.trouble.reopen_ns = None;
            self.trouble.reopen_failed_ns = None;
            self.trouble.index = self.watch.index();
            if let Ok(description) = link::describe(&self.ns, self.watch.device()) {
                self.feed.set_mtu(description.mtu_bytes);
            }
            return Ok(());
        };
        let since_ns = *self.trouble.reopen_failed_ns.get_or_insert(now_ns);
        if now_ns - since_ns >= AWAY_NS.max(self.trouble.stall_ns) {
            self.give_up(now_ns);
            return Err(format!("cannot open the ring again: {error}"));
        }
        self.say_once(&format!("{error}; trying again"));
        self.trouble.reopen_ns = Some(now_ns + REOPEN_NS);
        Ok(())
    }

    /// The oldest packet in flight is too old.
    pub(super) fn stalled(&mut self, stall: Stall, now_ns: u64) -> Result<(), Failed> {
        self.look(now_ns)?;
        if self.watch.condition() != Condition::Running || self.trouble.reopen_ns.is_some() {
            // That is why, and it was said.
            return Ok(());
        }
        self.trouble.stalls_in_a_row += 1;
        let (device, packets) = (self.watch.device(), self.with_device());
        let age_ms = stall.age_ns / 1_000_000;
        self.trouble.say(format_args!(
            "{device} completes nothing: the oldest of {packets} packets in flight is {age_ms} ms old; \
             they are in doubt now, and the ring is opened again"
        ));
        self.reopen(now_ns)?;
        // Nothing is left that could show that it sends again.
        let was_last = self.packets_out() == 0;
        let is_over =
            self.feed.is_empty() && (was_last || self.trouble.stalls_in_a_row >= STALLS_LIMIT);
        if is_over || interrupt::noted().is_some() {
            self.give_up(now_ns);
            return Err(format!(
                "{} stands still: {age_ms} ms without a completion",
                self.watch.device()
            ));
        }
        Ok(())
    }

    /// A call failed. What is in the ring is not lost: it is tried again.
    pub(super) fn driver_failed(&mut self, error: &io::Error, now_ns: u64) -> Result<(), Failed> {
        self.trouble.retry_ns = now_ns + RETRY_NS;
        self.look(now_ns)?;
        if self.watch.condition() == Condition::Running {
            self.say_once(&format!("{error}; trying again"));
        }
        // A round that fails tells of no stall.
        match self.queue.check_stall(now_ns) {
            Some(stall) => self.stalled(stall, now_ns),
            None => Ok(()),
        }
    }
}
