//! Changing to another source, and learning the kernel's ids.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::{RETRY_NS, State};
use crate::events::SocketIssue;
use crate::quality::Source;
use crate::sys::clock::monotonic_ns;
use crate::sys::socket as options;

impl State {
    /// Before a send: selects the next source if completions have been immediate for long.
    pub(super) fn select_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        if self.tracker.detector.limit_applies() {
            // The next ones can be tried again later.
            self.sources.rests = false;
            return Ok(());
        }
        let detector = &self.tracker.detector;
        if !self.sources.must_move() || !detector.is_source_useless(monotonic_ns()) {
            return Ok(());
        }
        // Nothing can be in flight: its notifications would have ids of the old source.
        self.complete(socket)?;
        if self.tracker.limiter.in_flight() > 0 || self.tracker.detector.limit_applies() {
            return Ok(());
        }
        if self.tracker.source() == Source::ZeroCopy {
            let next_id = self.tracker.objects.next();
            self.sources.next_zero_copy = self.sources.ids.kernels(next_id);
        }
        self.sources.advance();
        self.take_source(socket)
    }

    /// Continues without zero-copy, with nothing in flight.
    pub(super) fn disable_zero_copy(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.sources.reject_zero_copy(&mut self.listeners);
        self.take_source(socket)
    }

    /// Selects the next source if most completions of this one are lost. Only with nothing in
    /// flight.
    pub(super) fn replace_lost_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        if self.tracker.limiter.in_flight() > 0 {
            return Ok(());
        }
        let (level, option) = (libc::SOL_SOCKET, libc::SO_ZEROCOPY);
        if self.tracker.source() == Source::ZeroCopy
            && options::option(socket.as_fd(), level, option).is_ok_and(|on| on == 0)
        {
            return self.disable_zero_copy(socket);
        }
        if !self.tracker.losses.are_most() || self.tracker.source() == Source::Polled {
            return Ok(());
        }
        self.sources.remove(self.sources.current(), Source::Polled);
        self.take_source(socket)?;
        let quality = self.tracker.detector.quality;
        self.listeners.issue(SocketIssue::QualityChanged(quality));
        Ok(())
    }

    fn take_source(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.sources.turn_on(socket, &mut self.listeners)?;
        let source = self.sources.current();
        let next_id = match source {
            Source::ZeroCopy => self.sources.next_zero_copy.unwrap_or(0),
            // If the kernel assigns the ids, it counts timestamps from 0 since they were turned on.
            Source::Timestamps if !self.sources.own_ids => 0,
            _ => self.tracker.objects.next(),
        };
        let rests = self.sources.rests;
        self.tracker
            .change_source(source, next_id, rests, monotonic_ns());
        self.checks.from_object = self.tracker.totals.sent_objects;
        self.checks.next_object = 0;
        Ok(())
    }

    /// While the kernel's ids are unknown, only one object is in flight: its notification contains
    /// the id.
    pub(super) fn must_learn_ids(&mut self, socket: &UdpSocket, now_ns: u64) -> io::Result<bool> {
        if self.sources.ids.are_known || self.tracker.source() != Source::ZeroCopy {
            return Ok(false);
        }
        // Entries before the first send belong to another user.
        self.complete(socket)?;
        let waits = !self.sources.ids.are_known && self.tracker.limiter.in_flight() > 0;
        if waits {
            self.full_until_ns = Some(now_ns + RETRY_NS);
        }
        Ok(waits)
    }
}
