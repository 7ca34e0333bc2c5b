//! Failures: link down, removed device, stall, failed call.

use std::io;

use taut_dql::Stall;
use taut_linux::link::{self, LinkState};
use taut_linux::sched::monotonic_ns;
use taut_linux::{Port, interrupt};

use super::Relay;
use crate::direction::Direction;
use crate::run_control::{Event, RunControl};
use crate::source::{Renewal, Source};

/// Interval between polls of the links while returned packets are unconfirmed, in ns.
const LINK_POLL_NS: u64 = 1_000_000;
/// Interval between attempts to reopen a ring, in ns.
const REOPEN_NS: u64 = 20_000_000;
/// Consecutive stalls without a completion after which the remaining packets are abandoned.
const MAX_STALLS: u32 = 2;

impl<S: Source, O: RunControl> Relay<'_, S, O> {
    fn event(&mut self, at: usize, event: Event<'_>) {
        self.control
            .event(self.egresses[at].monitor.device(), event);
    }

    /// Handles a failed call. Packets in the ring are not lost: the call is retried.
    pub(super) fn failed(&mut self, at: usize, error: &io::Error) -> io::Result<()> {
        // A reopen completes packets that this turn sent: read the clock again.
        self.now_ns = monotonic_ns();
        let stall = self.directions[at].failed(self.now_ns);
        self.poll_links()?;
        if self.egresses[at].is_up() {
            self.report(at, error);
        }
        match stall {
            Some(stall) => self.stalled(at, stall),
            None => Ok(()),
        }
    }

    /// Reports a failure once.
    fn report(&mut self, at: usize, error: &io::Error) {
        // Down or removed: the poll of the link reports that.
        if matches!(error.kind(), io::ErrorKind::NetworkDown) || link::is_absent(error) {
            return;
        }
        let text = error.to_string();
        if self.reported.as_ref() != Some(&text) {
            self.event(at, Event::Failed(error));
            self.reported = Some(text);
        }
    }

    /// Handles a stall: the oldest packet in a device is too old.
    pub(super) fn stalled(&mut self, at: usize, stall: Stall) -> io::Result<()> {
        self.poll_links()?;
        let egress = &mut self.egresses[at];
        if !egress.is_open() {
            // That is the reason, and it was reported.
            return Ok(());
        }
        egress.consecutive_stalls += 1;
        egress.request_reopen(Renewal::SameDevice, self.now_ns);
        let age_ns = stall.age_ns;
        let packets = self.directions[at].in_device_packets();
        self.event(at, Event::Stalled { age_ns, packets });
        self.reopen(at)?;
        let (direction, egress) = (&mut self.directions[at], &self.egresses[at]);
        direction.set_open(egress.is_open(), self.now_ns);
        // No packet is left that could show that the device sends again.
        let was_last = direction.account().pending_packets() == 0;
        let is_over =
            direction.source().is_over() && (was_last || egress.consecutive_stalls >= MAX_STALLS);
        if self.policy.link_timeout_ns.is_some() && (is_over || interrupt::noted().is_some()) {
            let (name, age_ms) = (egress.monitor.device(), age_ns / 1_000_000);
            let text = format!("{name}: stalled, no completion for {age_ms} ms");
            return Err(io::Error::other(text));
        }
        Ok(())
    }

    /// Polls the links, and confirms completions.
    pub(super) fn poll_links(&mut self) -> io::Result<()> {
        self.next_poll_ns = self.now_ns + LINK_POLL_NS;
        for at in 0..self.egresses.len() {
            if let [one, other] = &mut *self.egresses {
                // No interface is bridged with itself, whatever its name is now.
                one.monitor.exclude(other.monitor.index());
                other.monitor.exclude(one.monitor.index());
            }
            match self.egresses[at].poll() {
                Ok((was_down, events)) => {
                    self.directions[at].link_polled(was_down, self.now_ns);
                    events.into_iter().for_each(|event| self.act(at, event));
                }
                Err(error) => self.report(at, &error),
            }
            self.reopen(at)?;
            let egress = &mut self.egresses[at];
            if egress.is_open() && std::mem::take(&mut egress.up_unreported) {
                self.event(at, Event::Up);
            }
            self.directions[at].set_open(self.egresses[at].is_open(), self.now_ns);
            self.check_patience(at)?;
        }
        Ok(())
    }

    /// Handles a change of a device, and reports it.
    fn act(&mut self, at: usize, event: Event<'_>) {
        let egress = &mut self.egresses[at];
        match &event {
            Event::Up => {
                (egress.up_unreported, self.reported) = (true, None);
                return;
            }
            Event::Returned => {
                egress.failed_since_ns = None;
                return egress.request_reopen(Renewal::AnotherDevice, self.now_ns);
            }
            Event::Renamed(_) => {
                let (to, from) = ends(self.directions, at);
                let source = from.map_or(&mut to.source, |from| &mut from.source);
                source.set_device(egress.monitor.device());
                to.port_mut().set_device(egress.monitor.device());
            }
            Event::Removed { .. } => {
                egress.removed_since_ns = Some(self.now_ns);
                let (to, from) = ends(self.directions, at);
                from.unwrap_or(&mut *to).close_source(self.now_ns);
                to.port_mut().release_device();
            }
            Event::Mtu(_) if !self.policy.follows_mtu => return,
            Event::Mtu(_) => egress.request_reopen(Renewal::SameDevice, self.now_ns),
            _ => {}
        }
        if matches!(event, Event::Down | Event::Removed { .. }) {
            let egress = &mut self.egresses[at];
            // A reopen after the outage is a new series.
            (egress.up_unreported, egress.failed_since_ns) = (false, None);
            if self.policy.drops_waiting {
                self.directions[at].flush(self.now_ns);
            }
        }
        self.event(at, event);
    }

    /// Fails if a device is removed for too long.
    fn check_patience(&self, at: usize) -> io::Result<()> {
        let (egress, link_timeout_ns) = (&self.egresses[at], self.policy.link_timeout_ns);
        let removed_ns = egress
            .removed_since_ns
            .map(|since_ns| self.now_ns - since_ns);
        let is_over = interrupt::noted().is_some() || removed_ns >= link_timeout_ns;
        if egress.state() != LinkState::Removed || link_timeout_ns.is_none() || !is_over {
            return Ok(());
        }
        let name = egress.monitor.device();
        let text = format!("{name}: device removed");
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    /// Reopens a ring if that is due and the link is up.
    fn reopen(&mut self, at: usize) -> io::Result<()> {
        let (egress, now_ns) = (&mut self.egresses[at], self.now_ns);
        let is_due = |&(_, at_ns): &(Renewal, u64)| egress.is_up() && at_ns <= now_ns;
        let Some((renewal, _)) = egress.reopen.filter(is_due) else {
            return Ok(());
        };
        let claimed = egress.renew_claim();
        let renewed = claimed.and_then(|()| renew(self.directions, at, renewal, now_ns));
        let egress = &mut self.egresses[at];
        let Err(error) = renewed else {
            (egress.reopen, egress.failed_since_ns) = (None, None);
            self.directions[at].source.set_mtu(egress.mtu_bytes());
            if renewal == Renewal::AnotherDevice {
                self.event(at, Event::Returned);
            }
            return Ok(());
        };
        egress.reopen = Some((renewal, now_ns + REOPEN_NS));
        let failed_ns = now_ns - *egress.failed_since_ns.get_or_insert(now_ns);
        if self.policy.drops_waiting {
            self.directions[at].flush(now_ns);
        }
        let stall_ns = self.directions[at].stall_ns;
        let link_timeout_ns = self.policy.link_timeout_ns;
        if link_timeout_ns.is_some_and(|link_timeout_ns| failed_ns >= link_timeout_ns.max(stall_ns))
        {
            let text = format!("cannot reopen the ring: {error}");
            return Err(io::Error::new(error.kind(), text));
        }
        self.report(at, &error);
        Ok(())
    }
}

fn renew<S: Source>(
    directions: &mut [Direction<S>],
    at: usize,
    renewal: Renewal,
    now_ns: u64,
) -> io::Result<()> {
    match ends(directions, at) {
        (to, Some(from)) => {
            from.take_last(now_ns);
            to.reopen(now_ns, |port, _| from.source.reopen(renewal, port))
        }
        (to, None) => to.reopen(now_ns, |port, source| source.reopen(renewal, port)),
    }
}

/// Returns the direction `at`, and the direction that receives on its device, if another one does:
/// of two, the other one.
fn ends<S: Source>(
    directions: &mut [Direction<S>],
    at: usize,
) -> (&mut Direction<S>, Option<&mut Direction<S>>) {
    match directions {
        [one, other] => match at {
            0 => (one, Some(other)),
            _ => (other, Some(one)),
        },
        all => (&mut all[at], None),
    }
}
