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

/// Longest wait without another deadline.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;

/// A UDP socket with a limit on the bytes that the kernel has not sent yet.
///
/// It is built from a socket of the caller, connected or not, IPv4 or IPv6. Any number of threads
/// and tasks can use it concurrently. A socket must have only one `LimitedUdp`, because two would
/// take each other's notifications. The blocking mode of the socket is not changed: a call returns
/// at once unless its documentation says that it waits.
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

    /// Returns the socket, for receiving and for its addresses and options. A send through it
    /// bypasses the limit.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Returns the time of the clock used here (`CLOCK_MONOTONIC`), in ns.
    pub fn now_ns() -> u64 {
        monotonic_ns()
    }

    /// Returns the units left below the limit: bytes, or datagrams for a limit in packets. The
    /// sender can send one more object while the value is at least 0. If the limit does not apply,
    /// the value is `i64::MAX`.
    ///
    /// A negative value counts as a block, as [`Stop::NoRoom`] does, and the limit grows if the
    /// link starves in that state. So call this only with a datagram ready to send;
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

    /// Sends as many of `datagrams` as there is room for, in as few calls as possible. Returns why
    /// it stopped. Reads notifications of earlier ones as well. Does not wait.
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read; the failure of a datagram is a [`Stop`].
    pub fn try_send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.send_now(datagrams, Room::Needed)
    }

    /// As [`try_send`](Self::try_send), with or without room: for datagrams that
    /// [`poll_room`](Self::poll_room) admitted before, and for a few small ones that cannot wait.
    /// They count as in flight like the others.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send).
    pub fn send_unlimited(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.send_now(datagrams, Room::NotNeeded)
    }

    fn send_now(&self, datagrams: &[Datagram<'_>], room: Room) -> io::Result<Sent> {
        let mut state = self.lock();
        // Under the lock: a thread that waits for notifications has checked before this, or checks
        // after it.
        let was_idle = state.next_wakeup().is_none();
        let sent = state.send(&self.socket, datagrams, room);
        wake_next(state);
        sent.map(|sent| Sent { was_idle, ..sent })
    }

    /// Records that a limit of the caller's own blocks the sender. The caller must report that,
    /// because datagrams that leave immediately are only significant if none waits above.
    pub fn note_blocked(&self) {
        self.lock().tracker.still_blocked();
    }

    /// Returns the units per second that the path moved while it was busy; 0 if unknown.
    pub fn rate(&self) -> u64 {
        self.lock().tracker.rate()
    }

    /// Returns a lower bound of the path's rate in units per second: the [`rate`](Self::rate), or
    /// if that is unknown because the path was never busy, the rate moved so far; 0 before that.
    pub fn min_rate(&self) -> u64 {
        self.lock().tracker.min_rate()
    }

    /// Returns the quality of completions.
    pub fn completion_quality(&self) -> CompletionQuality {
        self.lock().tracker.quality()
    }

    /// Sends all of `datagrams`, and waits for room if there is none. Stops early only at a
    /// datagram that the kernel rejects ([`Stop::Refused`]). A stalled path does not block it
    /// indefinitely: one datagram is admitted per stall threshold.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send), or the error of `ppoll`.
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

    /// Reads the kernel's notifications: completions and errors. Does not wait. Call it when the
    /// socket's error queue has entries (`POLLERR`), and at [`next_wakeup`](Self::next_wakeup).
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    pub fn complete(&self) -> io::Result<Completed> {
        let mut state = self.lock();
        let completed = state.complete(&self.socket);
        wake_next(state);
        completed
    }

    /// As [`complete`](Self::complete), if the socket still has an error after it: one without an
    /// entry stays until it is read.
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

    /// Returns when to call [`complete`](Self::complete) without a notification of the kernel, in
    /// ns of [`now_ns`](Self::now_ns); `None` while nothing is in flight.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.lock().next_wakeup()
    }

    /// Waits until the kernel has notifications, until the next wake-up, or until `deadline_ns` (of
    /// [`now_ns`](Self::now_ns)), and reads them. Returns after a second at the latest, and after a
    /// signal. After the socket was shut down it returns at once each time: end the loop then.
    ///
    /// # Errors
    /// The error of `ppoll`; as for [`complete`](Self::complete).
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
        // The wake-up had no entry in the queue: an error that stays until it is read.
        let early = completed.as_ref().is_ok_and(|it| it.counts.packets == 0);
        if early && monotonic_ns() < until_ns {
            state.take_pending_error(&self.socket);
        }
        wake_next(state);
        completed
    }

    /// Waits for room in FIFO order: `Ready` when it is the caller's turn and there is room.
    /// `place` keeps the position between two calls, and is `None` before the first and after the
    /// last. To stop waiting, call [`cancel_wait`](Self::cancel_wait).
    ///
    /// It reads the kernel's notifications once, before it starts to wait. Another task must call
    /// [`complete`](Self::complete) in the meantime.
    ///
    /// # Errors
    /// Returns an error if the maximum number of tasks wait
    /// ([`Builder::waiters`](crate::Builder::waiters)). The caller is not woken then.
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
            // The next read returns this error, too.
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

    /// Cancels a wait.
    pub fn cancel_wait(&self, place: Ticket) {
        let mut state = self.lock();
        state.turns.leave(place);
        wake_next(state);
    }

    /// Receives a datagram, as `UdpSocket::recv_from`. An error of an earlier sent datagram is
    /// counted as [`SocketIssue`] and skipped.
    ///
    /// # Errors
    /// Those of receiving: `WouldBlock` if the socket is non-blocking.
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

    /// Returns `true` if the error of a receiving call belongs to an earlier sent datagram. It is
    /// then counted.
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
        // The next read returns this error, too.
        let looked = state.complete(&self.socket);
        if looked.is_err() || state.listeners.issues == before {
            state.issue(issue);
        }
        wake_next(state);
        true
    }

    /// Returns the state at this moment.
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
        // Each change is complete before code can panic, except an observer's.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the next task after the lock is released, because a waker can run arbitrary code.
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
