//! Reading the error queue, and its consequences.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::{HeldError, State};
use crate::account::{Completed, Departure};
use crate::error::failed;
use crate::error_queue_entry::ErrorQueueEntry;
use crate::events::{IssueCounters, SocketIssue};
use crate::pool::Pool;
use crate::socket_options::restart_stamp_ids;
use crate::sys::clock::monotonic_ns;
use crate::sys::message::{self, BATCH};
use crate::sys::socket as options;

/// Maximum reads of the error queue in one call, so that it returns.
const MAX_READS: usize = 64;

impl State {
    /// Reads all pending notifications, as one batch.
    pub(crate) fn complete(&mut self, socket: &UdpSocket) -> io::Result<Completed> {
        let now_ns = monotonic_ns();
        self.sent_since_drain = 0;
        // The level before the queue: a completion in between has its entry there.
        let level = match self.tracker.needs_level(now_ns) {
            true => options::send_queue_bytes(socket.as_fd()).map(Some),
            false => Ok(None),
        };
        let read = self.read_error_queue(socket, now_ns);
        // The batch ends even if the socket cannot be read, so that a stall is reported.
        let completed = self.end_batch(socket, *level.as_ref().unwrap_or(&None), now_ns);
        level.and(read).and(completed)
    }

    fn end_batch(
        &mut self,
        socket: &UdpSocket,
        level: Option<u32>,
        now_ns: u64,
    ) -> io::Result<Completed> {
        let (tracker, listeners) = (&mut self.tracker, &mut self.listeners);
        // Nothing is released here: the kernel might still send an abandoned object.
        let mut on_departure = |departure: Departure| listeners.departed(&departure);
        if let Some(level) = level {
            tracker.level(level, now_ns, &mut on_departure);
            tracker.level_was_read(now_ns);
        }
        let completed = tracker.end_batch(now_ns, &mut on_departure);
        if completed.lost > 0 && self.sources.pool.is_some() {
            // The old pages stay with the packets that are sent from them.
            self.sources.pool = Some(Pool::new(self.sources.pool_bytes)?);
        }
        self.report(&completed);
        if completed.lost > 0 {
            if !self.sources.own_ids && self.tracker.limiter.in_flight() == 0 {
                self.restart_ids(socket)?;
            }
            self.replace_lost_source(socket)?;
        }
        Ok(completed)
    }

    fn read_error_queue(&mut self, socket: &UdpSocket, now_ns: u64) -> io::Result<()> {
        for _ in 0..MAX_READS {
            let read = message::receive_errors(socket.as_fd(), &mut self.scratch.entries);
            let count = match read {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed("recvmmsg MSG_ERRQUEUE", &error)),
            };
            for at in 0..count {
                self.take_entry(at, now_ns);
            }
            if count < BATCH {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take_entry(&mut self, at: usize, now_ns: u64) {
        let entry = &self.scratch.entries[at];
        let Some(mut entry) = ErrorQueueEntry::parse(entry.control.bytes(), entry.peer) else {
            return;
        };
        if let ErrorQueueEntry::Refused {
            errno,
            peer,
            mtu_bytes,
        } = entry
        {
            let issue = IssueCounters::of_errno(errno, peer, mtu_bytes);
            match self.held {
                HeldError::Wanted if errno == libc::EMSGSIZE => self.held = HeldError::Kept(issue),
                _ => self.listeners.issue(issue),
            }
            return;
        }
        if let ErrorQueueEntry::Released { first, last, .. } = &mut entry {
            let in_flight = self.tracker.limiter.in_flight() > 0;
            let newest = self.tracker.newest_id();
            let ids = &mut self.sources.ids;
            let (ours, is_unknown) = ids.ours((*first, *last), newest, in_flight);
            (*first, *last) = ours;
            self.tracker.totals.unknown_completions += u64::from(is_unknown);
        }
        let Self {
            tracker,
            listeners,
            sources,
            ..
        } = self;
        tracker.error_queue_entry(&entry, now_ns, &mut |departure| {
            listeners.departed(&departure);
            if let Some(pool) = &mut sources.pool {
                pool.release(departure.id);
            }
        });
    }

    fn report(&mut self, completed: &Completed) {
        if completed.counts.packets > 0 {
            self.full_until_ns = None;
        }
        if completed.lost > 0 {
            self.listeners.issue(SocketIssue::CompletionsLost {
                objects: completed.lost,
            });
        }
        if completed.clock_reversed {
            self.listeners.issue(SocketIssue::ClockReversed);
        }
        if let Some(quality) = completed.quality_change {
            self.listeners.issue(SocketIssue::QualityChanged(quality));
        }
        if let Some(stall) = completed.stalled {
            self.listeners.issue(SocketIssue::Stalled(stall));
        }
    }

    /// The kernel's ids differ from ours, and nothing is in flight: restarts both at 0.
    pub(super) fn restart_ids(&mut self, socket: &UdpSocket) -> io::Result<()> {
        restart_stamp_ids(socket)?;
        self.tracker.restart_ids();
        Ok(())
    }

    /// Reports an error of the socket without an entry, so that it does not stay.
    pub(crate) fn take_pending_error(&mut self, socket: &UdpSocket) {
        if let Ok(Some(error)) = socket.take_error()
            && let Some(errno) = error.raw_os_error()
        {
            self.listeners
                .issue(IssueCounters::of_errno(errno, None, 0));
        }
    }
}
