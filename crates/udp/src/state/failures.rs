//! What a failed send means.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use taut_path::queue::StopReason;
use taut_path::{DropReason, Event, Frame, Packet};

use super::{Held, RETRY_NS, State};
use crate::account::Source;
use crate::datagram::Datagram;
use crate::events::{IssueCounters, SocketIssue};
use crate::sent::Stop;
use crate::socket_options::restart_stamp_ids;
use crate::sys::clock::monotonic_ns;
use crate::sys::socket as options;

/// A socket whose buffer decided in place of the limit gets twice as much, up to this.
const SEND_BUFFER_LIMIT_BYTES: i32 = 16 << 20;

/// What to do after a failed send.
pub(super) enum After {
    Again,
    Stop(Stop),
}

impl State {
    /// Whether the source is stamps, and was not used before: numbers of our own were not tried.
    fn nothing_stamped_yet(&self) -> bool {
        self.source.stamps != 0 && self.tracker.totals().sent_objects == self.checks.from_object
    }

    /// The kernel did not take `datagram`, the first of a call.
    pub(super) fn failed(
        &mut self,
        socket: &UdpSocket,
        datagram: &Datagram<'_>,
        error: &io::Error,
        retried: bool,
    ) -> io::Result<After> {
        let now_ns = monotonic_ns();
        let bytes = datagram.wire_bytes(self.ipv4);
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(After::Again),
            Some(libc::EAGAIN) => Ok(self.buffer_full(socket, now_ns)),
            // A kernel that takes no numbers for stamps: its own then.
            Some(libc::EINVAL) if self.source.own_ids && self.nothing_stamped_yet() => {
                self.source.own_ids = false;
                // The kernel's begin at 0.
                restart_stamp_ids(socket)?;
                self.tracker.restart_ids();
                Ok(After::Again)
            }
            Some(libc::ENOBUFS) if self.tracker.source() == Source::ZeroCopy => {
                self.zero_copy_refused(socket, bytes, now_ns)
            }
            Some(libc::ENOBUFS) => {
                if !self.source.own_ids {
                    self.tracker.skip_id();
                }
                Ok(self.dropped(bytes, now_ns))
            }
            Some(errno) => {
                // It may be an earlier datagram's: the kernel hands a pending error to the next
                // call.
                let before = self.listeners.issues;
                // Of zero-copy sends the kernel may have counted it all the same.
                if self.tracker.source() == Source::ZeroCopy {
                    self.tracker.expect_rejected_id();
                }
                // The kernel tells it in the queue as well, each time.
                if errno == libc::EMSGSIZE && !retried {
                    self.held = Held::Wanted;
                }
                let looked = self.complete(socket);
                self.tracker.take_rejected_id();
                looked?;
                if !retried {
                    return Ok(After::Again);
                }
                self.held = Held::Nothing;
                if self.listeners.issues == before {
                    self.issue(IssueCounters::of_errno(errno, None, 0));
                }
                Ok(After::Stop(Stop::Refused(errno)))
            }
            None => Ok(After::Stop(Stop::Refused(0))),
        }
    }

    fn dropped(&mut self, bytes: u32, now_ns: u64) -> After {
        self.issue(SocketIssue::NoBufferSpace { bytes });
        let packet = Packet::new(Frame::new(self.tracker.next_id()), bytes);
        self.listeners
            .event(now_ns, Event::Dropped(&packet, DropReason::DeviceRefused));
        After::Stop(Stop::Refused(libc::ENOBUFS))
    }

    /// The send buffer decided and not the limit: more of it, where completions mean something.
    fn buffer_full(&mut self, socket: &UdpSocket, now_ns: u64) -> After {
        self.issue(SocketIssue::BufferFull {
            in_flight_bytes: self.tracker.bytes_in_flight(),
        });
        self.listeners
            .event(now_ns, Event::Stopped(StopReason::RingFull));
        if self.tracker.limit_applies() && !self.tracker.rule().is_off() {
            let (fd, level, kind) = (socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF);
            let has = options::option(fd, level, kind).unwrap_or(0);
            // What others fill through a clone is not ours to make room for.
            let is_ours = self.tracker.max_memory_bytes() >= has as u64 / 2;
            // What is read is twice what was set, so this doubles it.
            if is_ours
                && has < SEND_BUFFER_LIMIT_BYTES
                && options::set_option(fd, level, kind, has).is_ok()
            {
                let got = options::option(fd, level, kind).unwrap_or(0);
                if got > has {
                    return After::Again;
                }
            }
        }
        self.full_until_ns = Some(now_ns + RETRY_NS);
        After::Stop(Stop::BufferFull)
    }

    /// No buffer space for a zero-copy send: a drop below, or the kernel keeps no more
    /// notifications.
    fn zero_copy_refused(
        &mut self,
        socket: &UdpSocket,
        bytes: u32,
        now_ns: u64,
    ) -> io::Result<After> {
        // A datagram that was dropped below had a number, and its notification is there already.
        self.tracker.expect_rejected_id();
        let looked = self.complete(socket);
        if self.tracker.take_rejected_id() {
            return Ok(self.dropped(bytes, now_ns));
        }
        looked?;
        if self.tracker.in_flight() > 0 {
            self.issue(SocketIssue::BufferFull {
                in_flight_bytes: self.tracker.bytes_in_flight(),
            });
            self.full_until_ns = Some(now_ns + RETRY_NS);
            return Ok(After::Stop(Stop::BufferFull));
        }
        self.go_without_zero_copy(socket)?;
        Ok(After::Again)
    }
}
