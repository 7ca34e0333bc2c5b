//! The engine: serves directions, and follows what happens to their devices.

mod outage;

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::poll::Ready;
use taut_linux::sched::monotonic_ns;

use crate::direction::Direction;
use crate::exit::Exit;
use crate::link::State;
use crate::operator::{Event, Operator, Policy};
use crate::parts::Parts;
use crate::run::{Next, Work, run};
use crate::source::Source;

/// One direction, or two between the same two interfaces: then the port of each is on the interface
/// that the other receives from.
pub struct Relay<K: Parts, const N: usize> {
    directions: [Direction<K>; N],
    /// Where each of them goes to.
    exits: [Exit; N],
    policy: Policy,
    next_look_ns: u64,
    /// The last failure that was reported, so that each is reported once.
    reported: Option<String>,
    stopped_ns: Option<u64>,
}

impl<K: Parts, const N: usize> Relay<K, N> {
    /// Serves `directions`, whose ports are on the devices of `exits`.
    pub fn new(
        mut directions: [Direction<K>; N],
        exits: [Exit; N],
        policy: Policy,
        now_ns: u64,
    ) -> Self {
        for (direction, exit) in directions.iter_mut().zip(&exits) {
            direction.set_open(exit.is_open(), now_ns);
        }
        Self {
            directions,
            exits,
            policy,
            next_look_ns: now_ns,
            reported: None,
            stopped_ns: None,
        }
    }

    pub fn directions(&self) -> &[Direction<K>; N] {
        &self.directions
    }

    pub(crate) fn directions_mut(&mut self) -> &mut [Direction<K>; N] {
        &mut self.directions
    }

    /// Serves until the sources are over and everything has ended, or until it is given up. Every packet
    /// is in the [accounts](Direction::account) then, also if that failed.
    ///
    /// # Errors
    /// If a device is gone for longer than the policy allows, or nothing comes back from it.
    pub fn run(&mut self, operator: &mut impl Operator<K>) -> io::Result<()> {
        let served = run(&mut Served {
            relay: self,
            operator,
        });
        let now_ns = monotonic_ns();
        for direction in &mut self.directions {
            direction.give_up(now_ns);
        }
        served
    }

    fn turn(
        &mut self,
        now_ns: u64,
        ready: Ready,
        operator: &mut impl Operator<K>,
    ) -> io::Result<Next> {
        let readable = self.readable(ready);
        if operator.is_over(now_ns, &mut self.directions) {
            self.stop(now_ns, operator);
        }
        for at in 0..N {
            self.reap(at, now_ns, operator)?;
        }
        if now_ns >= self.next_look_ns {
            self.look(now_ns, operator)?;
        }
        if self.is_done(now_ns) {
            // What came back since the last look is confirmed by this one.
            self.look(now_ns, operator)?;
            if self.is_done(now_ns) {
                return Ok(Next::End);
            }
        }
        for (at, readable) in readable.into_iter().enumerate() {
            if let Err(error) = self.directions[at].turn(now_ns, readable) {
                self.failed(at, &error, now_ns, operator)?;
            }
        }
        Ok(self.next())
    }

    /// Which directions have something to receive. News of a link are looked at in this turn.
    fn readable(&mut self, ready: Ready) -> [bool; N] {
        let mut position = 0;
        let mut is_ready = || {
            position += 1;
            ready.is_ready(position - 1)
        };
        let readable = std::array::from_fn(|at| {
            let fd = self.directions[at].fd();
            fd.is_some() && is_ready()
        });
        if self.exits.iter().any(|_| is_ready()) {
            self.next_look_ns = 0;
        }
        readable
    }

    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>) {
        fds.extend(self.directions.iter().filter_map(Direction::fd));
        fds.extend(self.exits.iter().map(|exit| exit.link.fd()));
    }

    fn next(&self) -> Next {
        let directions = self.directions.iter().map(Direction::next);
        let next = directions.fold(Next::At(u64::MAX), Next::min);
        let is_unconfirmed = |it: &Direction<K>| it.account().is_unconfirmed();
        match next {
            // The others must have their turn.
            Next::Now if N > 1 => Next::At(0),
            Next::At(at_ns) if self.directions.iter().any(is_unconfirmed) => {
                Next::At(at_ns.min(self.next_look_ns))
            }
            next => next,
        }
    }

    /// Takes in nothing more.
    fn stop(&mut self, now_ns: u64, operator: &mut impl Operator<K>) {
        if self
            .stopped_ns
            .replace(self.stopped_ns.unwrap_or(now_ns))
            .is_some()
            || self.directions.iter().all(|it| it.source().is_over())
        {
            return;
        }
        for direction in &mut self.directions {
            direction.stop();
            if self.policy.drops_waiting {
                direction.flush(now_ns);
            }
        }
        let pending = self
            .directions
            .iter()
            .map(|it| it.account().pending_packets());
        let packets = pending.sum();
        operator.event(self.exits[0].link.name(), Event::Stopping { packets });
    }

    /// Whether everything that was taken in has ended, or is not waited for.
    fn is_done(&self, now_ns: u64) -> bool {
        let drain_ns = self.policy.drain_ns;
        let is_drained = (self.stopped_ns)
            .is_some_and(|stopped_ns| now_ns.saturating_sub(stopped_ns) > drain_ns);
        let mut each = self.directions.iter().zip(&self.exits);
        each.all(|(direction, exit)| {
            let is_over = direction.source().is_over();
            // Nobody knows when it comes up, and the end does not wait for that.
            let waits_in_vain = match exit.link.state() {
                State::Up => false,
                State::Down => self.stopped_ns.is_some(),
                State::Gone => self.stopped_ns.is_some() && self.policy.patience_ns.is_none(),
            };
            is_over && direction.account().pending_packets() == 0 || waits_in_vain || is_drained
        })
    }

    fn reap(&mut self, at: usize, now_ns: u64, operator: &mut impl Operator<K>) -> io::Result<()> {
        let reaped = self.directions[at].reap(now_ns);
        if self.directions[at].is_moving() {
            self.exits[at].completed();
        }
        match reaped {
            Ok(None) => Ok(()),
            Ok(Some(stall)) => self.stalled(at, stall, now_ns, operator),
            Err(error) => self.failed(at, &error, now_ns, operator),
        }
    }
}

/// A relay with who runs it.
struct Served<'a, K: Parts, O, const N: usize> {
    relay: &'a mut Relay<K, N>,
    operator: &'a mut O,
}

impl<K: Parts, O: Operator<K>, const N: usize> Work for Served<'_, K, O, N> {
    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>) {
        self.relay.fds(fds);
    }

    fn turn(&mut self, now_ns: u64, ready: Ready) -> io::Result<Next> {
        self.relay.turn(now_ns, ready, self.operator)
    }
}
