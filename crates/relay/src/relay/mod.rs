//! The engine: serves directions, and monitors their devices.

mod outage;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_linux::link::LinkState;
use taut_linux::sched::monotonic_ns;

use crate::direction::Direction;
use crate::egress::Egress;
use crate::run::{Next, Work, run};
use crate::run_control::{Event, Policy, RunControl};
use crate::source::Source;

/// The kernel's counters of missed frames have 32 bits and are read at this interval, in ns.
const COUNT_INTERVAL_NS: u64 = 1_000_000_000;

/// Serves `directions`, whose ports are on the devices of `egresses`, until the sources are over
/// and all packets have ended, or until it fails. Every packet is then in the
/// [accounts](Direction::account), even after a failure.
///
/// Of two directions, the port of each is on the interface from which the other receives.
///
/// # Errors
/// Returns an error if a device is removed for longer than the policy allows, or if it stalls for
/// good.
pub fn serve<S: Source>(
    directions: &mut [Direction<S>],
    egresses: &mut [Egress],
    policy: Policy,
    control: &mut impl RunControl,
) -> io::Result<()> {
    let now_ns = monotonic_ns();
    for (direction, egress) in directions.iter_mut().zip(&*egresses) {
        direction.set_open(egress.is_open(), now_ns);
    }
    let mut relay = Relay {
        directions,
        egresses,
        policy,
        control,
        now_ns,
        next_poll_ns: now_ns,
        next_count_ns: now_ns,
        reported: None,
        stopped_ns: None,
    };
    let served = run(&mut relay);
    let now_ns = monotonic_ns();
    for direction in relay.directions {
        direction.give_up(now_ns);
    }
    served
}

/// Directions, their destination devices, and their run control.
struct Relay<'a, S: Source, O> {
    directions: &'a mut [Direction<S>],
    egresses: &'a mut [Egress],
    policy: Policy,
    control: &'a mut O,
    now_ns: u64,
    next_poll_ns: u64,
    next_count_ns: u64,
    /// The last reported failure, so that each is reported once.
    reported: Option<String>,
    stopped_ns: Option<u64>,
}

impl<S: Source, O: RunControl> Work for Relay<'_, S, O> {
    fn fds<'a>(&'a self, fds: &mut Vec<BorrowedFd<'a>>) {
        fds.extend(self.directions.iter().filter_map(|it| it.source.fd()));
        fds.extend(self.egresses.iter().map(|egress| egress.monitor.as_fd()));
    }

    fn turn(&mut self, now_ns: u64, ready: &[bool]) -> io::Result<Next> {
        self.now_ns = now_ns;
        self.note(ready);
        if now_ns >= self.next_count_ns {
            self.next_count_ns = now_ns + COUNT_INTERVAL_NS;
            self.directions.iter_mut().for_each(Direction::count_missed);
        }
        if self.control.is_over(now_ns, self.directions) {
            self.stop();
        }
        for at in 0..self.directions.len() {
            self.reap(at)?;
        }
        if now_ns >= self.next_poll_ns {
            self.poll_links()?;
        }
        if self.is_done() {
            // This poll confirms packets returned since the last one.
            self.poll_links()?;
            if self.is_done() {
                return Ok(Next::End);
            }
        }
        for at in 0..self.directions.len() {
            if let Err(error) = self.directions[at].turn(self.now_ns) {
                self.failed(at, &error)?;
            }
        }
        Ok(self.next())
    }
}

impl<S: Source, O: RunControl> Relay<'_, S, O> {
    /// Records which directions are readable, and whether a link has events.
    fn note(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        let mut is_ready = || ready.next() == Some(&true);
        for direction in &mut *self.directions {
            if direction.source.fd().is_some() && is_ready() {
                direction.set_readable();
            }
        }
        if self.egresses.iter().any(|_| is_ready()) {
            self.next_poll_ns = 0;
        }
    }

    fn next(&self) -> Next {
        let directions = self.directions.iter().map(Direction::next);
        let next = directions.min().unwrap_or(Next::At(u64::MAX));
        let is_unconfirmed = |it: &Direction<S>| it.account().is_unconfirmed();
        match next {
            // Serve the other directions first.
            Next::Now if self.directions.len() > 1 => Next::At(0),
            Next::At(at_ns) if self.directions.iter().any(is_unconfirmed) => {
                Next::At(at_ns.min(self.next_poll_ns))
            }
            next => next,
        }
    }

    /// Accepts no more packets.
    fn stop(&mut self) {
        if self.stopped_ns.is_some() {
            return;
        }
        self.stopped_ns = Some(self.now_ns);
        if self.directions.iter().all(|it| it.source().is_over()) {
            return;
        }
        let mut packets = 0;
        for direction in &mut *self.directions {
            direction.stop();
            if self.policy.drops_waiting {
                direction.flush(self.now_ns);
            }
            packets += direction.account().pending_packets();
        }
        let device = self.egresses[0].monitor.device();
        self.control.event(device, Event::Stopping { packets });
    }

    /// Returns `true` if all accepted packets have ended, or are not waited for.
    fn is_done(&self) -> bool {
        let stopped_ns = self.stopped_ns;
        let stopped_for_ns = stopped_ns.map(|stopped_ns| self.now_ns.saturating_sub(stopped_ns));
        let is_drained = stopped_for_ns.is_some_and(|for_ns| for_ns > self.policy.drain_ns);
        let mut each = self.directions.iter().zip(&*self.egresses);
        each.all(|(direction, egress)| {
            let is_empty =
                direction.source().is_over() && direction.account().pending_packets() == 0;
            // The link might never come up, and the end does not wait for it.
            let is_in_vain = match egress.state() {
                LinkState::Running => false,
                LinkState::Down => stopped_ns.is_some(),
                LinkState::Removed => stopped_ns.is_some() && self.policy.link_timeout_ns.is_none(),
            };
            is_empty || direction.is_exhausted() || is_in_vain || is_drained
        })
    }

    fn reap(&mut self, at: usize) -> io::Result<()> {
        let reaped = self.directions[at].reap(self.now_ns);
        if self.directions[at].is_moving {
            self.egresses[at].consecutive_stalls = 0;
        }
        match reaped {
            Ok(None) => Ok(()),
            Ok(Some(stall)) => self.stalled(at, stall),
            Err(error) => self.failed(at, &error),
        }
    }
}
