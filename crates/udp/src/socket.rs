//! A UDP socket under a limit.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use taut_dql::tasks::{Ticket, TooManyWaiters};

use crate::account::Completed;
use crate::datagram::Datagram;
use crate::error::failed;
use crate::events::{IssueCounters, SocketIssue};
use crate::quality::CompletionQuality;
use crate::sent::{Sent, Stop};
use crate::snapshot::Snapshot;
use crate::state::{Room, State};
use crate::sys;
use crate::sys::clock::monotonic_ns;

/// While something waits and nothing has a time of its own.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;

/// A UDP socket that is held back by what the kernel has not sent yet.
///
/// Made of a socket of the caller's, connected or not, IPv4 or IPv6. Any number of threads and
/// tasks may use it at a time; but only one `LimitedUdp` for one socket, or each takes the other's
/// news. It neither blocks nor unblocks the socket itself: every call here that does not say that
/// it waits returns at once.
pub struct LimitedUdp {
    socket: UdpSocket,
    state: Mutex<State>,
}

impl LimitedUdp {
    pub(crate) fn from_parts(socket: UdpSocket, state: State) -> Self {
        Self {
            socket,
            state: Mutex::new(state),
        }
    }

    /// The socket: to receive, and for its addresses and options. Sending through it goes past the
    /// limit.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Nanoseconds of the clock that times here are of (`CLOCK_MONOTONIC`).
    pub fn now_ns() -> u64 {
        monotonic_ns()
    }

    /// Returns the units left below the limit: bytes, or datagrams for a limit in packets. The
    /// sender can send one more object while the value is at least 0. Where the limit does not
    /// apply, the value is `i64::MAX`.
    ///
    /// A negative value counts as a block, as [`Stop::NoRoom`] does, and the limit grows if the
    /// link runs dry in that state. So call this only with a datagram ready to send;
    /// [`snapshot`](Self::snapshot) has the numbers for display.
    pub fn room(&self) -> i64 {
        let mut state = self.lock();
        if !state.tracker.limit_applies() {
            return i64::MAX;
        }
        let now_ns = monotonic_ns();
        let room = state.tracker.room();
        if state.has_room(now_ns) {
            return room.max(0); // After a stall, one object may probe the path.
        }
        state.blocked(now_ns);
        room
    }

    /// Sends as many of `datagrams` as there is room for, in as few calls as possible, and says why
    /// it stopped. Takes the news of earlier ones on the way. Does not wait.
    ///
    /// # Errors
    /// Only if the socket itself cannot be asked; what becomes of a datagram is a [`Stop`].
    pub fn try_send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.send_now(datagrams, Room::Needed)
    }

    /// As [`try_send`](Self::try_send), whether or not there is room: for what was given room by
    /// [`poll_room`](Self::poll_room) before, and for the few small datagrams that cannot wait. It
    /// counts as in flight like the others.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send).
    pub fn send_unlimited(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.send_now(datagrams, Room::NotNeeded)
    }

    fn send_now(&self, datagrams: &[Datagram<'_>], room: Room) -> io::Result<Sent> {
        let mut state = self.lock();
        // Under the lock: who waits for news looked before this, or looks after it.
        let was_idle = state.next_wakeup().is_none();
        let sent = state.send(&self.socket, datagrams, room);
        wake_next(state);
        sent.map(|sent| Sent { was_idle, ..sent })
    }

    /// What the path moved while it was busy, in the limit's units a second; 0 while not known.
    pub fn rate(&self) -> u64 {
        self.lock().tracker.rate()
    }

    /// What the path moves at least, in the limit's units a second: the [`rate`](Self::rate), or
    /// while that is not known because the path was never busy, what it moved; 0 before that.
    pub fn min_rate(&self) -> u64 {
        self.lock().tracker.min_rate()
    }

    /// What completions are worth.
    pub fn completion_quality(&self) -> CompletionQuality {
        self.lock().tracker.quality()
    }

    /// Sends all of `datagrams` and waits for room where there is none. Stops early only at one
    /// that the kernel refuses ([`Stop::Refused`]). A path that stands still does not hang it for
    /// good: one datagram is let through each stall threshold.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send), or what `ppoll` fails with.
    pub fn send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        let mut all = self.try_send(datagrams)?;
        while let Some(Stop::NoRoom | Stop::BufferFull) = all.stop {
            self.wait(None)?;
            let sent = self.try_send(&datagrams[all.count..])?;
            all.count += sent.count;
            all.stop = sent.stop;
        }
        Ok(all)
    }

    /// Takes the kernel's news: what completed, and what went wrong. Does not wait. Call it when
    /// the socket has something in its error queue (`POLLERR`) and at
    /// [`next_wakeup`](Self::next_wakeup).
    ///
    /// # Errors
    /// Only if the socket itself cannot be asked.
    pub fn complete(&self) -> io::Result<Completed> {
        let mut state = self.lock();
        let completed = state.complete(&self.socket);
        wake_next(state);
        completed
    }

    /// As [`complete`](Self::complete), when the socket still has an error after it: one that no
    /// entry explains stays until it is asked for.
    #[cfg(feature = "tokio")]
    pub(crate) fn complete_pending(&self) -> io::Result<()> {
        let mut state = self.lock();
        let completed = state.complete(&self.socket);
        if completed.as_ref().is_ok_and(|it| it.counts.packets == 0) {
            state.take_pending_error(&self.socket);
        }
        wake_next(state);
        completed.map(drop)
    }

    /// When to call [`complete`](Self::complete) although the kernel says nothing, in ns of
    /// [`now_ns`](Self::now_ns); `None` while nothing is in flight.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.lock().next_wakeup()
    }

    /// Waits until the kernel has news, until it is time to look, or until `deadline_ns` (of
    /// [`now_ns`](Self::now_ns)), and takes what there is. Returns after a second at the latest,
    /// and after a signal. Once the socket was shut down by somebody it returns at once each time:
    /// leave the loop then.
    ///
    /// # Errors
    /// What `ppoll` fails with; as for [`complete`](Self::complete).
    pub fn wait(&self, deadline_ns: Option<u64>) -> io::Result<Completed> {
        let now_ns = monotonic_ns();
        let (wakeup_ns, writable) = {
            let state = self.lock();
            let full = state.is_full();
            (state.next_wakeup(), full && state.tracker.in_flight() == 0)
        };
        let longest_ns = now_ns + LONGEST_WAIT_NS;
        let own_ns = wakeup_ns.unwrap_or(longest_ns);
        let until_ns = own_ns.min(deadline_ns.unwrap_or(u64::MAX)).min(longest_ns);
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        sys::poll::wait_for_errors(self.socket.as_fd(), writable, left)
            .map_err(|error| failed("ppoll", &error))?;
        let mut state = self.lock();
        let completed = state.complete(&self.socket);
        // Something woke us that is not in the queue: an error that stays until it is asked for.
        let early = completed.as_ref().is_ok_and(|it| it.counts.packets == 0);
        if early && monotonic_ns() < until_ns {
            state.take_pending_error(&self.socket);
        }
        wake_next(state);
        completed
    }

    /// Waits in turn for room: `Ready` when it is this one's turn and there is some. `place` keeps
    /// the place between two calls, and is `None` before the first and after the last. Whoever
    /// loses interest must [`cancel_wait`](Self::cancel_wait).
    ///
    /// It takes the kernel's news once, before it begins to wait: somebody must call
    /// [`complete`](Self::complete) meanwhile.
    ///
    /// # Errors
    /// When as many wait as may: [`Builder::waiters`](crate::Builder::waiters). Nobody wakes this
    /// one then.
    pub fn poll_room(
        &self,
        place: &mut Option<Ticket>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), TooManyWaiters>> {
        let mut state = self.lock();
        let now_ns = monotonic_ns();
        let mut room = state.has_room(now_ns);
        let first = match place.as_ref() {
            Some(ticket) => state.turns.is_first(ticket),
            None => state.turns.is_empty(),
        };
        if !room && place.is_none() {
            // An error of the look is one that the next look meets, too.
            let _ = state.complete(&self.socket);
            room = state.has_room(now_ns);
        }
        if room && first {
            if let Some(ticket) = place.take() {
                state.turns.leave(ticket);
            }
            return Poll::Ready(Ok(()));
        }
        match place.as_ref() {
            Some(ticket) => {
                state.tracker.still_blocked();
                state.turns.set_waker(ticket, context.waker());
            }
            None => {
                state.tracker.blocked();
                match state.turns.join(context.waker()) {
                    Ok(ticket) => *place = Some(ticket),
                    Err(too_many) => return Poll::Ready(Err(too_many)),
                }
            }
        }
        Poll::Pending
    }

    /// Gives a place up.
    pub fn cancel_wait(&self, place: Ticket) {
        let mut state = self.lock();
        state.turns.leave(place);
        wake_next(state);
    }

    /// Receives a datagram, as `UdpSocket::recv_from`, but an error of an earlier datagram that was
    /// sent is counted as [`SocketIssue`] and does not end it.
    ///
    /// # Errors
    /// Those of receiving: `WouldBlock` where the socket is non-blocking.
    pub fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        loop {
            let error = match self.socket.recv_from(into) {
                Ok(received) => return Ok(received),
                Err(error) => error,
            };
            if !self.is_send_error(&error) {
                return Err(error);
            }
        }
    }

    /// Whether what a receiving call failed with is the error of an earlier datagram that was sent,
    /// which is counted then and says nothing about receiving.
    pub fn is_send_error(&self, error: &io::Error) -> bool {
        let Some(errno) = error.raw_os_error() else {
            return false;
        };
        let issue = IssueCounters::of_errno(errno, None, 0);
        if !matches!(
            issue,
            SocketIssue::Unreachable { .. } | SocketIssue::TooLarge { .. }
        ) {
            return false;
        }
        let mut state = self.lock();
        let before = state.listeners.issues;
        // An error of the look is one that the next look meets, too.
        let looked = state.complete(&self.socket);
        if looked.is_err() || state.listeners.issues == before {
            state.issue(issue);
        }
        wake_next(state);
        true
    }

    /// Everything at this moment.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.lock();
        let tracker = &state.tracker;
        let (fd, kind) = (self.socket.as_fd(), libc::SO_SNDBUF);
        let buffer = sys::socket::option(fd, libc::SOL_SOCKET, kind).unwrap_or(0);
        let totals = tracker.totals();
        Snapshot {
            completion_quality: tracker.quality(),
            source: tracker.source(),
            limit: tracker.limit(),
            in_flight: tracker.in_flight(),
            in_flight_bytes: tracker.bytes_in_flight(),
            rate: tracker.rate(),
            waiting: state.turns.len(),
            send_buffer_bytes: u32::try_from(buffer).unwrap_or(0),
            totals,
            issues: IssueCounters {
                stalls: totals.stalls,
                ..state.listeners.issues
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole before anything can panic, but for an observer's.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes whoever is next, after the lock is let go of: a waker may be anybody's code.
fn wake_next(state: MutexGuard<'_, State>) {
    let next = state.next_in_turn(monotonic_ns());
    drop(state);
    if let Some(waker) = next {
        waker.wake();
    }
}

impl AsFd for LimitedUdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl std::fmt::Debug for LimitedUdp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let snapshot = self.snapshot();
        f.debug_struct("LimitedUdp")
            .field("socket", &self.socket)
            .field("snapshot", &snapshot)
            .finish()
    }
}
