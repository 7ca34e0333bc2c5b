//! A UDP socket with a limit.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::account::Completed;
use crate::datagram::Datagram;
use crate::events::{IssueCounters, SocketIssue};
use crate::quality::CompletionQuality;
use crate::sent::Sent;
use crate::snapshot::Snapshot;
use crate::state::{Room, State};
use crate::sys;
use crate::sys::clock::monotonic_ns;

/// A UDP socket with a limit on the bytes that the kernel has not sent yet.
///
/// It is built from a socket of the caller, connected or not, IPv4 or IPv6. Any number of threads
/// and tasks can use it concurrently. A socket must have only one `LimitedUdp`, because two would
/// take each other's notifications. The blocking mode of the socket is not changed: a call returns
/// at once unless its documentation says that it waits.
///
/// A clone is the same limited socket. The socket is closed when the last clone, the last
/// [`Permit`](crate::Permit) and the last [`Place`](crate::Place) are dropped.
#[derive(Clone)]
pub struct LimitedUdp {
    pub(crate) shared: Arc<SharedSocket>,
}

pub(crate) struct SharedSocket {
    pub(crate) socket: UdpSocket,
    state: Mutex<State>,
}

impl LimitedUdp {
    pub(crate) fn from_parts(socket: UdpSocket, state: State) -> Self {
        let state = Mutex::new(state);
        Self {
            shared: Arc::new(SharedSocket { socket, state }),
        }
    }

    /// Returns the socket, for receiving and for its addresses and options. A send through it
    /// bypasses the limit.
    pub fn socket(&self) -> &UdpSocket {
        &self.shared.socket
    }

    /// Returns the time of the clock used here (`CLOCK_MONOTONIC`), in ns.
    pub fn now_ns() -> u64 {
        monotonic_ns()
    }

    /// Returns the units left below the limit, and counts a negative value as a block. Units are
    /// bytes, or datagrams for a limit in packets. The sender can send one more object while the
    /// value is at least 0. If the limit does not apply, the value is `i64::MAX`.
    ///
    /// The value is advisory: it reserves nothing, and another sender can take the room before the
    /// caller sends. [`try_reserve`](Self::try_reserve) reserves it.
    ///
    /// The limit grows if the link starves after a block, as after
    /// [`Stop::NoRoom`](crate::Stop::NoRoom). Call this only with a datagram ready to send;
    /// [`snapshot`](Self::snapshot) has the numbers for display.
    pub fn room(&self) -> i64 {
        let mut state = self.lock();
        if !state.tracker.detector.limit_applies() {
            return i64::MAX;
        }
        let now_ns = monotonic_ns();
        let room = state.tracker.limiter.room();
        if state.has_room(now_ns) {
            return room.max(0); // After a stall, one object may probe the path.
        }
        state.tracker.blocked();
        room
    }

    /// Sends as many of `datagrams` as there is room for, in as few calls as possible. Returns why
    /// it stopped. Reads notifications of earlier ones as well. Does not wait.
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read; the failure of a datagram is a
    /// [`Stop`](crate::Stop).
    pub fn try_send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.update(|state| state.send(self.socket(), datagrams, Room::Needed))
    }

    /// As [`try_send`](Self::try_send), with or without room: for datagrams that
    /// [`Place::poll_room`](crate::Place::poll_room) admitted before, and for a few small ones that
    /// cannot wait. They count as in flight like the others.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send).
    pub fn send_unlimited(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.update(|state| state.send(self.socket(), datagrams, Room::NotNeeded))
    }

    /// Records that a limit of the caller's own blocks the sender. Without this, immediate
    /// completions would show that no queue exists below, although the sender was only blocked. Not
    /// counted in [`Totals::times_blocked`](crate::Totals::times_blocked).
    pub fn note_blocked(&self) {
        self.lock().tracker.still_blocked();
    }

    /// Returns a lower bound of the path's rate in units per second: the
    /// [measured rate](Snapshot::units_per_s), or if the path was never busy, the rate carried so
    /// far; 0 before that.
    pub fn min_units_per_s(&self) -> u64 {
        self.lock().tracker.limiter.rate.min_units_per_s()
    }

    /// Returns the quality of completions.
    pub fn completion_quality(&self) -> CompletionQuality {
        self.lock().tracker.detector.quality
    }

    /// Reads the kernel's notifications: completions and errors. Does not wait. Call it when the
    /// socket's error queue has entries (`POLLERR`), and at [`next_wakeup`](Self::next_wakeup).
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    pub fn complete(&self) -> io::Result<Completed> {
        self.complete_after(|| false)
    }

    /// As [`complete`](Self::complete). If nothing completed although the kernel `notified` it, it
    /// also reads the error of the socket: one without an entry stays until it is read.
    pub(crate) fn complete_after(&self, notified: impl FnOnce() -> bool) -> io::Result<Completed> {
        self.update(|state| {
            let completed = state.complete(self.socket());
            let packets = completed.as_ref().map(|it| it.counts.packets);
            state.pass_unpolled(packets.is_ok_and(|packets| packets > 0));
            if packets.is_ok_and(|packets| packets == 0) && notified() {
                state.take_pending_error(self.socket());
            }
            completed
        })
    }

    /// Returns when to call [`complete`](Self::complete) without a notification of the kernel, in
    /// ns of [`now_ns`](Self::now_ns); `None` while nothing is in flight.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.lock().next_wakeup()
    }

    /// Passes an error of the reading task to the next waiting task.
    #[cfg(feature = "tokio")]
    pub(crate) fn fail_next(&self, error: io::Error) {
        let next = self.lock().fail_next(error);
        next.into_iter().for_each(Waker::wake);
    }

    /// Receives a datagram, as `UdpSocket::recv_from`. An error of an earlier sent datagram is
    /// counted as [`SocketIssue`] and skipped.
    ///
    /// # Errors
    /// Those of receiving: `WouldBlock` if the socket is non-blocking.
    pub fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        loop {
            let error = match self.socket().recv_from(into) {
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
        self.update(|state| {
            let before = state.listeners.issues;
            // The next read returns this error, too.
            let looked = state.complete(self.socket());
            if looked.is_err() || state.listeners.issues == before {
                state.listeners.issue(issue);
            }
        });
        true
    }

    /// Returns the state at this moment.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.lock();
        let tracker = &state.tracker;
        let (fd, kind) = (self.socket().as_fd(), libc::SO_SNDBUF);
        let buffer = sys::socket::option(fd, libc::SOL_SOCKET, kind).unwrap_or(0);
        let (limiter, totals) = (&tracker.limiter, tracker.totals);
        Snapshot {
            completion_quality: tracker.detector.quality,
            source: tracker.source(),
            limit: limiter.limit(),
            in_flight: limiter.in_flight(),
            reserved: limiter.reserved,
            in_flight_bytes: tracker.objects.bytes(),
            units_per_s: limiter.rate.units_per_s(),
            waiting_tasks: state.turns.queue.len(),
            send_buffer_bytes: u32::try_from(buffer).unwrap_or(0),
            totals,
            issues: IssueCounters {
                stalls: totals.stalls,
                ..state.listeners.issues
            },
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is complete before code can panic, except an observer's.
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the next task and the reading task after the lock is released.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        let next = state.wake_next();
        #[cfg(feature = "tokio")]
        let reader = state.turns.take_due_reader();
        drop(state);
        next.into_iter().for_each(Waker::wake);
        #[cfg(feature = "tokio")]
        if let Some(reader) = reader {
            reader.notify_one();
        }
        result
    }
}

impl AsFd for LimitedUdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

// Without the state: an observer that prints the socket or a permit already holds its lock.
impl std::fmt::Debug for LimitedUdp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LimitedUdp")
            .field("socket", self.socket())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::place::Place;

    #[test]
    fn printing_does_not_lock() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
        let udp = LimitedUdp::new(socket).expect("limited");
        let place = Place::new(&udp);
        let permit = udp.try_reserve(100).expect("no error").expect("room");
        let (printed, next) = mpsc::channel();
        let locked = udp.lock();
        let shown = udp.clone();
        thread::spawn(move || printed.send(format!("{shown:?} {place:?} {permit:?}")));
        next.recv_timeout(Duration::from_secs(60)).expect("printed");
        drop(locked);
    }
}
