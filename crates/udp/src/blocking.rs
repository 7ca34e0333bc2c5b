//! Calls that wait on a thread.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use taut_dql::tasks::Priority;

use crate::account::Completed;
use crate::datagram::Datagram;
use crate::error::failed;
use crate::permit::Permit;
use crate::place::Place;
use crate::sent::Sent;
use crate::socket::LimitedUdp;
use crate::sys::clock::monotonic_ns;

/// Longest wait without another deadline.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Wait of a blocking send while permits reserve room.
const PERMIT_RETRY_NS: u64 = 1_000_000;

/// Wakes a thread from [`LimitedUdp::wait_or_woken`], for events that the kernel does not report,
/// such as room that a permit released.
#[derive(Debug)]
pub struct ThreadWaker(OwnedFd);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        // It can only fail if the counter is full, and then the thread is woken already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl ThreadWaker {
    /// Creates a waker of one thread.
    ///
    /// # Errors
    /// That of `eventfd`.
    pub fn new() -> io::Result<Arc<Self>> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).map_err(|error| failed("eventfd", &error.into()))?;
        Ok(Arc::new(Self(event)))
    }
}

impl LimitedUdp {
    /// Sends all of `datagrams`, and waits for room if there is none. Stops early only at a
    /// datagram that the kernel rejects ([`Stop::Refused`](crate::Stop::Refused)). A stalled path
    /// does not block it indefinitely, because one datagram is admitted per stall threshold. A
    /// [`Permit`](crate::Permit) that is kept does block it.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send), or the error of `ppoll`, if nothing was sent. Otherwise
    /// it stops with [`Stop::NoRoom`](crate::Stop::NoRoom).
    pub fn send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        let mut all = None;
        let mut waited = Ok(());
        loop {
            let left = &datagrams[all.map_or(0, |all: Sent| all.count)..];
            let sent = waited.and_then(|()| self.try_send(left));
            if let ControlFlow::Break(sent) = Sent::extend(&mut all, sent) {
                return sent;
            }
            // A dropped permit does not wake this thread.
            let reserved = self.snapshot().reserved > 0;
            let retry_ns = reserved.then(|| monotonic_ns() + PERMIT_RETRY_NS);
            waited = self.wait(retry_ns).map(drop);
        }
    }

    /// Waits in FIFO order for room, and reserves it for one object of `bytes` on the wire, as
    /// [`try_reserve`](Self::try_reserve) does.
    ///
    /// # Errors
    /// As for [`Place::poll_reserve`](crate::Place::poll_reserve), or the error of `ppoll` or
    /// `eventfd`.
    pub fn reserve(&self, bytes: u32) -> io::Result<Permit> {
        self.reserve_as(bytes, Priority::Normal)
    }

    /// As [`reserve`](Self::reserve), with a priority: an urgent sender precedes all waiting
    /// senders that are not urgent.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve).
    pub fn reserve_as(&self, bytes: u32, priority: Priority) -> io::Result<Permit> {
        let mut place = Place::new(self);
        let mut poll = |context: &mut Context<'_>| place.poll_reserve(bytes, priority, context);
        if let Poll::Ready(done) = poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
        let thread = ThreadWaker::new()?;
        let waker = Waker::from(Arc::clone(&thread));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(done) = poll(&mut context) {
                return done;
            }
            self.wait_or_woken(None, &thread)?;
        }
    }

    /// Waits until the kernel has notifications, until the next wake-up, or until `deadline_ns` (of
    /// [`now_ns`](Self::now_ns)), and reads them. Returns after a second at the latest, and after a
    /// signal. After the socket was shut down it returns at once each time: end the loop then.
    ///
    /// # Errors
    /// The error of `ppoll`; as for [`complete`](Self::complete).
    pub fn wait(&self, deadline_ns: Option<u64>) -> io::Result<Completed> {
        self.wait_for(deadline_ns, None)
    }

    /// As [`wait`](Self::wait), but also returns after `waker` was woken.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    pub fn wait_or_woken(
        &self,
        deadline_ns: Option<u64>,
        waker: &ThreadWaker,
    ) -> io::Result<Completed> {
        let completed = self.wait_for(deadline_ns, Some(waker.0.as_fd()));
        let _ = rustix::io::read(&waker.0, &mut [0; 8]);
        completed
    }

    fn wait_for(
        &self,
        deadline_ns: Option<u64>,
        wakeup: Option<BorrowedFd<'_>>,
    ) -> io::Result<Completed> {
        let now_ns = monotonic_ns();
        let (wakeup_ns, writable) = {
            let state = self.lock();
            (state.next_wakeup(), state.is_full())
        };
        let longest_ns = now_ns + LONGEST_WAIT_NS;
        let own_ns = wakeup_ns.unwrap_or(longest_ns);
        let until_ns = own_ns.min(deadline_ns.unwrap_or(u64::MAX)).min(longest_ns);
        let left_ns = until_ns.saturating_sub(now_ns);
        let timeout = Timespec {
            tv_sec: (left_ns / 1_000_000_000) as _,
            tv_nsec: (left_ns % 1_000_000_000) as _,
        };
        // The kernel reports POLLERR even if it is not requested.
        let events = match writable {
            true => PollFlags::OUT,
            false => PollFlags::empty(),
        };
        let mut waiting = [
            PollFd::new(self, events),
            PollFd::from_borrowed_fd(wakeup.unwrap_or(self.as_fd()), PollFlags::IN),
        ];
        let used = if wakeup.is_some() { 2 } else { 1 };
        match poll(&mut waiting[..used], Some(&timeout)) {
            Err(error) if error != Errno::INTR => return Err(failed("ppoll", &error.into())),
            _ => {}
        }
        self.complete_after(|| monotonic_ns() < until_ns)
    }
}
