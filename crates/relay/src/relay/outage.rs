//! Links that go down, devices that are removed, completions that never come, calls that fail.

use std::io;

use taut_dql::Stall;
use taut_linux::interrupt;

use super::Relay;
use crate::direction::Direction;
use crate::exit::Exit;
use crate::link::{Change, is_missing};
use crate::operator::{Event, Operator};
use crate::parts::{Parts, Renewal};
use crate::source::Source;

/// Between two looks at the links, in ns, while packets wait for one to confirm that they were sent.
const LOOK_NS: u64 = 1_000_000;
/// Stalls in a row, without a completion between, after which what is left is given up.
const STALLS_LIMIT: u32 = 2;

impl<K: Parts, const N: usize> Relay<K, N> {
    /// A call failed. What is in the ring is not lost: it is tried again.
    pub(super) fn failed(
        &mut self,
        at: usize,
        error: &io::Error,
        now_ns: u64,
        operator: &mut impl Operator<K>,
    ) -> io::Result<()> {
        let stall = self.directions[at].failed(now_ns);
        self.look(now_ns, operator)?;
        if self.exits[at].is_up() {
            self.report(at, error, Event::Failed(error), operator);
        }
        match stall {
            Some(stall) => self.stalled(at, stall, now_ns, operator),
            None => Ok(()),
        }
    }

    /// Reports a failure once.
    fn report(
        &mut self,
        at: usize,
        error: &io::Error,
        event: Event<'_>,
        operator: &mut impl Operator<K>,
    ) {
        // Down or removed: the look at the link reports that.
        if matches!(error.kind(), io::ErrorKind::NetworkDown) || is_missing(error) {
            return;
        }
        let text = error.to_string();
        if self.reported.as_ref() != Some(&text) {
            operator.event(self.exits[at].link.name(), event);
            self.reported = Some(text);
        }
    }

    /// The oldest packet in a device is too old.
    pub(super) fn stalled(
        &mut self,
        at: usize,
        stall: Stall,
        now_ns: u64,
        operator: &mut impl Operator<K>,
    ) -> io::Result<()> {
        self.look(now_ns, operator)?;
        let (direction, exit) = (&self.directions[at], &mut self.exits[at]);
        if !exit.is_open() {
            // That is why, and it was reported.
            return Ok(());
        }
        exit.stalled();
        exit.ask_reopen(Renewal::SameDevice, now_ns);
        let (age_ns, packets) = (stall.age_ns, direction.in_device_packets());
        operator.event(exit.link.name(), Event::Stalled { age_ns, packets });
        self.reopen(at, now_ns, operator)?;
        let (direction, exit) = (&mut self.directions[at], &self.exits[at]);
        direction.set_open(exit.is_open(), now_ns);
        // Nothing is left that could show that it sends again.
        let was_last = direction.account().pending_packets() == 0;
        let is_over =
            direction.source().is_over() && (was_last || exit.stalls_in_a_row() >= STALLS_LIMIT);
        if self.policy.patience_ns.is_some() && (is_over || interrupt::noted().is_some()) {
            let (name, age_ms) = (exit.link.name(), age_ns / 1_000_000);
            let text = format!("{name} stands still: {age_ms} ms without a completion");
            return Err(io::Error::other(text));
        }
        Ok(())
    }

    /// Finds out what happened to the links, and which completions count.
    pub(super) fn look(&mut self, now_ns: u64, operator: &mut impl Operator<K>) -> io::Result<()> {
        self.next_look_ns = now_ns + LOOK_NS;
        for at in 0..N {
            match self.exits[at].link.look() {
                Ok(found) => {
                    self.directions[at].looked(found.was_broken, now_ns);
                    for change in found.changes {
                        self.act(at, change, now_ns, operator)?;
                    }
                }
                Err(error) => self.report(at, &error, Event::Failed(&error), operator),
            }
            self.reopen(at, now_ns, operator)?;
            let exit = &mut self.exits[at];
            if exit.take_new() {
                operator.event(exit.link.name(), Event::Up);
            }
            self.directions[at].set_open(exit.is_open(), now_ns);
            self.check_patience(&self.exits[at], now_ns)?;
        }
        Ok(())
    }

    fn check_patience(&self, exit: &Exit, now_ns: u64) -> io::Result<()> {
        let (Some(patience_ns), Some(removed_ns)) =
            (self.policy.patience_ns, exit.removed_ns(now_ns))
        else {
            return Ok(());
        };
        if removed_ns < patience_ns && interrupt::noted().is_none() {
            return Ok(());
        }
        let name = exit.link.name();
        let text = format!("{name} is gone: there is no such device any more");
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    fn act(
        &mut self,
        at: usize,
        change: Change,
        now_ns: u64,
        operator: &mut impl Operator<K>,
    ) -> io::Result<()> {
        let event = match change {
            Change::Up => {
                self.reported = None;
                self.exits[at].came_up();
                return Ok(());
            }
            Change::Down => {
                self.exits[at].went_down();
                Event::Down
            }
            Change::Gone => {
                self.exits[at].removed(now_ns);
                self.directions[receives_on(at, N)].close_source(now_ns);
                Event::Removed
            }
            Change::Back => {
                self.exits[at].ask_reopen(Renewal::AnotherDevice, now_ns);
                return Ok(());
            }
            Change::Mtu(_) if !self.policy.follows_mtu => return Ok(()),
            Change::Mtu(mtu_bytes) => {
                self.exits[at].ask_reopen(Renewal::SameDevice, now_ns);
                Event::Mtu(mtu_bytes)
            }
        };
        if self.policy.drops_waiting && matches!(event, Event::Down | Event::Removed) {
            self.directions[at].flush(now_ns);
        }
        operator.event(self.exits[at].link.name(), event);
        Ok(())
    }

    /// Opens a ring again, if that is due.
    fn reopen(
        &mut self,
        at: usize,
        now_ns: u64,
        operator: &mut impl Operator<K>,
    ) -> io::Result<()> {
        let Some(renewal) = self.exits[at].reopen_due(now_ns) else {
            return Ok(());
        };
        let exit = &mut self.exits[at];
        let Err(error) = renew(&mut self.directions, at, renewal, now_ns) else {
            exit.reopened();
            let source = self.directions[at].source_mut();
            source.set_mtu(exit.link.mtu_bytes());
            if renewal == Renewal::AnotherDevice {
                operator.event(exit.link.name(), Event::Back);
            }
            return Ok(());
        };
        let failed_ns = exit.reopen_failed(now_ns);
        if self.policy.drops_waiting {
            self.directions[at].flush(now_ns);
        }
        let patience_ns = self.policy.patience_ns;
        let stall_ns = self.directions[at].stall_ns();
        if patience_ns.is_some_and(|patience_ns| failed_ns >= patience_ns.max(stall_ns)) {
            let text = format!("cannot open the ring again: {error}");
            return Err(io::Error::new(error.kind(), text));
        }
        self.report(at, &error, Event::NotReopened(&error), operator);
        Ok(())
    }
}

/// The direction whose source is on the interface that direction `at` sends to: of two the other.
const fn receives_on(at: usize, directions: usize) -> usize {
    directions - 1 - at
}

fn renew<K: Parts>(
    directions: &mut [Direction<K>],
    at: usize,
    renewal: Renewal,
    now_ns: u64,
) -> io::Result<()> {
    let from = receives_on(at, directions.len());
    match directions.get_disjoint_mut([at, from]) {
        Ok([to, from]) => {
            from.take_last(now_ns);
            to.reopen(now_ns, |port, _| {
                K::reopen(renewal, port, from.source_mut())
            })
        }
        // One direction alone.
        Err(_) => directions[at].reopen(now_ns, |port, source| K::reopen(renewal, port, source)),
    }
}
