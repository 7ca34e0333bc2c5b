//! Handling of failed sends.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use super::{HeldError, RETRY_NS, State};
use crate::datagram::Datagram;
use crate::events::{IssueCounters, SocketIssue};
use crate::quality::Source;
use crate::sent::Stop;
use crate::sys::clock::monotonic_ns;
use crate::sys::socket as options;

/// Maximum send buffer. A buffer that blocks before the limit is doubled, up to this.
const MAX_SEND_BUFFER_BYTES: i32 = 16 << 20;

impl State {
    /// Returns `true` if the source is timestamps and unused so far: own ids were not tried.
    fn no_timestamp_used(&self) -> bool {
        let sent_objects = self.tracker.totals.sent_objects;
        self.tracker.source() == Source::Timestamps && sent_objects == self.checks.from_object
    }

    /// Handles a kernel call that did not accept `datagram`, the first of the call. Returns the
    /// reason to stop, or `None` to call again.
    pub(super) fn failed(
        &mut self,
        socket: &UdpSocket,
        datagram: &Datagram<'_>,
        error: &io::Error,
        retried: bool,
    ) -> io::Result<Option<Stop>> {
        let now_ns = monotonic_ns();
        let bytes = datagram.wire_bytes(self.ipv4);
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(None),
            Some(libc::EAGAIN) => Ok(self.buffer_full(socket, now_ns)),
            // The kernel does not support own ids for timestamps: use its ids.
            Some(libc::EINVAL) if self.sources.own_ids && self.no_timestamp_used() => {
                self.sources.own_ids = false;
                self.restart_ids(socket)?;
                Ok(None)
            }
            Some(libc::ENOBUFS) if self.tracker.source() == Source::ZeroCopy => {
                self.zero_copy_refused(socket, bytes, now_ns)
            }
            Some(libc::ENOBUFS) => {
                if !self.sources.own_ids {
                    self.tracker.skip_id();
                }
                Ok(self.dropped(bytes))
            }
            Some(errno) => {
                // The error might belong to an earlier datagram: the kernel returns a pending error
                // from the next call.
                let before = self.listeners.issues;
                // The kernel might have counted a rejected zero-copy send.
                let is_zero_copy = self.tracker.source() == Source::ZeroCopy;
                if is_zero_copy {
                    self.tracker.expect_rejected_id();
                }
                // The kernel reports this error in the queue as well, each time.
                if errno == libc::EMSGSIZE && !retried {
                    self.held = HeldError::Wanted;
                }
                let looked = self.complete(socket);
                if is_zero_copy {
                    self.tracker.take_rejected_id();
                }
                looked?;
                if !retried {
                    return Ok(None);
                }
                self.held = HeldError::Nothing;
                if self.listeners.issues == before {
                    self.listeners
                        .issue(IssueCounters::of_errno(errno, None, 0));
                }
                Ok(Some(Stop::Refused(errno)))
            }
            None => Ok(Some(Stop::Refused(0))),
        }
    }

    fn dropped(&mut self, bytes: u32) -> Option<Stop> {
        self.listeners.issue(SocketIssue::NoBufferSpace { bytes });
        Some(Stop::Refused(libc::ENOBUFS))
    }

    /// The send buffer blocked and not the limit: enlarge it if the limit applies.
    fn buffer_full(&mut self, socket: &UdpSocket, now_ns: u64) -> Option<Stop> {
        self.listeners.issue(SocketIssue::BufferFull {
            in_flight_bytes: self.tracker.objects.bytes(),
        });
        if self.tracker.detector.limit_applies() && !self.tracker.limiter.rule().is_off() {
            let (fd, level, kind) = (socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF);
            let has = options::option(fd, level, kind).unwrap_or(0);
            // Only for our own datagrams: others might fill the buffer through a clone.
            let is_ours = self.tracker.max_memory_bytes() >= has as u64 / 2;
            // The value read is twice the value set, so this doubles it.
            if is_ours
                && has < MAX_SEND_BUFFER_BYTES
                && options::set_option(fd, level, kind, has).is_ok()
            {
                let got = options::option(fd, level, kind).unwrap_or(0);
                if got > has {
                    return None;
                }
            }
        }
        self.full_until_ns = Some(now_ns + RETRY_NS);
        Some(Stop::BufferFull)
    }

    /// No buffer space for a zero-copy send: a drop below, or no memory for more notifications.
    fn zero_copy_refused(
        &mut self,
        socket: &UdpSocket,
        bytes: u32,
        now_ns: u64,
    ) -> io::Result<Option<Stop>> {
        // A datagram that was dropped below had an id, and its notification is already there.
        self.tracker.expect_rejected_id();
        let looked = self.complete(socket);
        if self.tracker.take_rejected_id() {
            return Ok(self.dropped(bytes));
        }
        looked?;
        if self.tracker.limiter.in_flight() > 0 {
            self.listeners.issue(SocketIssue::BufferFull {
                in_flight_bytes: self.tracker.objects.bytes(),
            });
            self.full_until_ns = Some(now_ns + RETRY_NS);
            return Ok(Some(Stop::BufferFull));
        }
        self.disable_zero_copy(socket)?;
        Ok(None)
    }
}
