//! Sending: room, the system call, and the accepted datagrams.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use rustix::net::SocketAddrAny;

use super::{HeldError, RETRY_NS, Room, State};
use crate::datagram::{Datagram, ReportRequests};
use crate::quality::Source;
use crate::sent::{Sent, Stop};
use crate::sys::clock::{monotonic_ns, real_ns};
use crate::sys::message::{self, BATCH, Outgoing};
use crate::sys::socket as options;

/// Objects sent before notifications are read although there is room.
const SENT_BEFORE_DRAIN: u32 = 16;
/// Number of objects that are checked individually, and the interval of checks after that.
const CHECKED_AT_FIRST: u64 = 128;
const CHECKED_ONE_OF: u64 = 32;

impl State {
    /// Sends as many of `datagrams` as there is room for.
    pub(crate) fn send(
        &mut self,
        socket: &UdpSocket,
        datagrams: &[Datagram<'_>],
        room: Room,
    ) -> io::Result<Sent> {
        // A timer is needed now: the caller's, and that of the reading task. Read under the lock: a
        // thread that waits for notifications has checked before this, or checks after it.
        let was_idle = self.next_wakeup().is_none();
        if was_idle && self.turns.must_read() {
            self.turns.check_reader();
        }
        self.select_source(socket)?;
        let needed = room == Room::Needed;
        let first = self.tracker.objects.next();
        let mut count = 0;
        let mut retried = false;
        // Each call without room reads notifications, even after an earlier one: it might be the
        // only reader.
        let mut looked = false;
        let stop = loop {
            if count == datagrams.len() {
                break None;
            }
            let now_ns = monotonic_ns();
            let stopped = needed && !self.has_room(now_ns);
            if self.sent_since_drain >= SENT_BEFORE_DRAIN || (stopped && !looked) {
                self.complete(socket)?;
                looked = true;
            }
            if self.must_learn_ids(socket, now_ns)? {
                break Some(Stop::BufferFull);
            }
            if !datagrams[count].has_fitting_source(self.ipv4) {
                break Some(Stop::Refused(libc::EAFNOSUPPORT));
            }
            let queued = self.queue(&datagrams[count..], now_ns, needed);
            if queued == 0 {
                self.tracker.blocked();
                break Some(Stop::NoRoom);
            }
            match self.hand_over(socket, &datagrams[count..count + queued]) {
                Ok(taken) => {
                    count += taken;
                    (retried, looked) = (false, false);
                    self.report_held();
                }
                Err(error) => {
                    let stop = self.failed(socket, &datagrams[count], &error, retried)?;
                    if stop.is_some() {
                        break stop;
                    }
                    retried = true;
                }
            }
        };
        Ok(Sent {
            count,
            first,
            stop,
            was_idle,
        })
    }

    /// Counts as many of `datagrams` as there is room for, before the kernel sees them.
    fn queue(&mut self, datagrams: &[Datagram<'_>], now_ns: u64, needed: bool) -> usize {
        let real_ns = real_ns();
        let mut queued = 0;
        let group = self.group(datagrams);
        let mut unstamped = self.tracker.unreported_at_end();
        // Zero-copy ids follow from the number of accepted datagrams, and a call with several does
        // not report why it stopped.
        let most = if self.sources.pool.is_some() {
            1
        } else {
            BATCH
        };
        for datagram in datagrams.iter().take(most) {
            // A datagram that cannot be sent is the first of the next call.
            if (needed && !self.has_room(now_ns)) || !datagram.has_fitting_source(self.ipv4) {
                break;
            }
            let next_id = self.tracker.objects.next();
            let pool = self.sources.pool.as_mut();
            let span = pool.map(|pool| pool.put(next_id, datagram.payload));
            if span == Some(None) {
                // Only a completion makes room in the pool, and the waiting task must poll for it.
                self.full_until_ns = Some(now_ns + RETRY_NS);
                break;
            }
            let bytes = datagram.wire_bytes(self.ipv4);
            let id = self
                .tracker
                .queue(bytes, datagram.datagrams(), now_ns, real_ns);
            self.tracker.tag_last(datagram.tag);
            let mut requests = ReportRequests {
                stamp: self.tracker.source() == Source::Timestamps,
                own_id: self.sources.own_ids.then_some(id),
            };
            let is_followed = datagram.is_followed_by(datagrams.get(queued + 1));
            unstamped += 1;
            let more = !needed || self.has_room(now_ns);
            if unstamped < group && is_followed && queued + 1 < most && more {
                requests.stamp = false;
                self.tracker.make_last_unreported();
            } else {
                unstamped = 0;
            }
            let scratch = &mut self.scratch;
            scratch.spans[queued] = span.flatten();
            scratch.peers[queued] = datagram.to.map(SocketAddrAny::from);
            datagram.write_control(&requests, self.ipv4, &mut scratch.controls[queued]);
            queued += 1;
        }
        queued
    }

    /// Returns how many datagrams share a timestamp. Each has its own if an observer needs it, or
    /// if the kernel assigns the ids.
    fn group(&self, datagrams: &[Datagram<'_>]) -> u32 {
        let observed = self.listeners.observer.as_ref();
        let each = observed.is_some_and(|it| it.needs_each_timestamp())
            || !self.sources.own_ids
            || self.tracker.source() != Source::Timestamps;
        match datagrams.first() {
            Some(first) if !each => self.tracker.group(first.wire_bytes(self.ipv4)),
            _ => 1,
        }
    }

    /// The held error belonged to an earlier datagram, because this one was accepted now.
    fn report_held(&mut self) {
        if let HeldError::Kept(issue) = std::mem::replace(&mut self.held, HeldError::Nothing) {
            self.listeners.issue(issue);
        }
    }

    /// Passes the queued datagrams to the kernel, and removes those not accepted.
    fn hand_over(&mut self, socket: &UdpSocket, datagrams: &[Datagram<'_>]) -> io::Result<usize> {
        let is_checked = self.checks_next();
        let (mut level, mut flags) = (0, 0);
        match self.tracker.source() {
            Source::Polled if is_checked => level = options::send_queue_bytes(socket.as_fd())?,
            Source::ZeroCopy => flags = libc::MSG_ZEROCOPY,
            _ => {}
        }
        let mut outgoing = [Outgoing::EMPTY; BATCH];
        let scratch = &*self.scratch;
        for (at, (datagram, out)) in datagrams.iter().zip(&mut outgoing).enumerate() {
            let payload = match (&self.sources.pool, &scratch.spans[at]) {
                (Some(pool), Some(span)) => pool.bytes(span.clone()),
                _ => datagram.payload,
            };
            *out = Outgoing {
                peer: scratch.peers[at].as_ref(),
                payload,
                control: scratch.controls[at].bytes(),
            };
        }
        let sent = message::send(socket.as_fd(), &outgoing[..datagrams.len()], flags);
        let taken = *sent.as_ref().unwrap_or(&0);
        let left = datagrams.len() - taken;
        self.tracker.unqueue(left);
        if let Some(pool) = &mut self.sources.pool {
            pool.take_back(left);
        }
        if taken > 0 {
            self.tracker.returned(taken, real_ns());
            self.sent_since_drain += taken as u32;
            self.full_until_ns = None;
            if is_checked {
                self.check_waiting(socket, taken, level)?;
            }
        }
        sent
    }

    /// Returns `true` if the next objects are checked for waiting. Sources that report it need no
    /// check, and the others are sampled, because a check is a system call.
    fn checks_next(&self) -> bool {
        let sent = self.tracker.totals.sent_objects;
        let at_first = sent < self.checks.from_object + CHECKED_AT_FIRST;
        self.tracker.source() != Source::Timestamps && (at_first || sent >= self.checks.next_object)
    }

    /// Checks if sent objects wait. `level` is that of the socket before them.
    fn check_waiting(&mut self, socket: &UdpSocket, taken: usize, level: u32) -> io::Result<()> {
        self.checks.next_object = self.tracker.totals.sent_objects + CHECKED_ONE_OF;
        if self.tracker.source() == Source::Polled {
            let now = options::send_queue_bytes(socket.as_fd())?;
            self.tracker.level_rose(taken, now.saturating_sub(level));
            return Ok(());
        }
        let last = self.tracker.objects.next().wrapping_sub(1);
        self.complete(socket)?;
        let waits = self.tracker.objects.get(last).is_some();
        self.tracker.observed(waits);
        Ok(())
    }
}
