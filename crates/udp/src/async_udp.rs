//! Sending and waiting for room as futures of tokio.
//!
//! tokio's own write readiness is never used. An entry of the error queue raises `EPOLLERR`, which
//! together with `EPOLLOUT` means "the write side is closed" and is never cleared, so a waiting
//! task would spin. A second epoll descriptor that reports only errors signals completions.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use taut_dql::tasks::{Ticket, WaitQueue};
use tokio::io::unix::AsyncFd;
use tokio::{task, time};

use crate::builder::Builder;
use crate::datagram::Datagram;
use crate::error::failed;
use crate::sent::{Sent, Stop};
use crate::socket::LimitedUdp;
use crate::sys;

/// Longest sleep of a waiting task without another deadline.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A [`LimitedUdp`] on tokio. Any number of tasks can send through it; they get room in FIFO order.
///
/// One of the waiting tasks reads notifications for all, and passes that on when it leaves, so no
/// task has to be spawned. Needs a runtime with I/O and time enabled.
#[derive(Debug)]
pub struct AsyncUdp {
    limited: LimitedUdp,
    errors: AsyncFd<OwnedFd>,
    /// Tasks that wait for room: the first one reads notifications.
    readers: Mutex<WaitQueue>,
    /// A second descriptor of the same socket, which waits only for readability. Created by the
    /// first receive.
    readable: OnceLock<AsyncFd<UdpSocket>>,
}

/// A place in the wait queue, released when the future is dropped.
struct QueuePlace<'a> {
    udp: &'a AsyncUdp,
    ticket: Option<Ticket>,
    /// Its place among the readers of notifications.
    reader: Option<Ticket>,
}

impl QueuePlace<'_> {
    /// Returns `true` if this task must read notifications; it is woken when that changes.
    fn reads_notifications(&mut self, context: &mut Context<'_>) -> bool {
        let mut readers = self.udp.readers();
        match &self.reader {
            Some(ticket) => readers.set_waker(ticket, context.waker()),
            // Not bounded here: the number of waiting tasks is bounded elsewhere.
            None => self.reader = readers.join(context.waker()).ok(),
        }
        self.reader.as_ref().is_some_and(|it| readers.is_first(it))
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.udp.limited.cancel_wait(ticket);
        }
        let Some(ticket) = self.reader.take() else {
            return;
        };
        let mut readers = self.udp.readers();
        let was_reader = readers.is_first(&ticket);
        readers.leave(ticket);
        let next = readers.first().filter(|_| was_reader).cloned();
        drop(readers);
        if let Some(next) = next {
            next.wake();
        }
    }
}

impl AsyncUdp {
    /// Puts `socket` under the default limit and makes it non-blocking.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        Self::build(LimitedUdp::builder(socket))
    }

    /// Puts `socket` under a limit with the given settings: [`LimitedUdp::builder`].
    ///
    /// # Errors
    /// Those of [`Builder::build`] and of `epoll`.
    ///
    /// # Panics
    /// Outside of a runtime of tokio with I/O.
    pub fn build(builder: Builder) -> io::Result<Self> {
        let limited = builder.build()?;
        limited.socket().set_nonblocking(true)?;
        let epoll =
            sys::epoll::for_errors(limited.as_fd()).map_err(|error| failed("epoll_ctl", &error))?;
        Ok(Self {
            limited,
            errors: sys::epoll::watch(epoll)?,
            readers: Mutex::new(WaitQueue::new(usize::MAX)),
            readable: OnceLock::new(),
        })
    }

    /// Returns the limited socket, for all calls that do not wait.
    pub fn limited(&self) -> &LimitedUdp {
        &self.limited
    }

    /// Waits in FIFO order until there is room for one more datagram. Cancel-safe: a dropped future
    /// leaves the wait queue. If there is always room, it still yields to other tasks at times.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be read, or if more tasks wait than
    /// [`Builder::waiters`] (`QuotaExceeded`).
    ///
    /// # Panics
    /// When it waits in a runtime without time.
    pub async fn room(&self) -> io::Result<()> {
        let mut place = QueuePlace {
            udp: self,
            ticket: None,
            reader: None,
        };
        // On a path without a limit, a sender would never yield to the runtime.
        task::consume_budget().await;
        loop {
            let mut completions = pin!(self.news());
            let room = std::future::poll_fn(|context| {
                match self.limited.poll_room(&mut place.ticket, context) {
                    Poll::Ready(Ok(())) => return Poll::Ready(Ok(true)),
                    Poll::Ready(Err(too_many)) => {
                        let kind = io::ErrorKind::QuotaExceeded;
                        return Poll::Ready(Err(io::Error::new(kind, too_many)));
                    }
                    Poll::Pending => {}
                }
                // Waking all waiting tasks at each completion costs more than sending.
                if !place.reads_notifications(context) {
                    return Poll::Pending;
                }
                // A completion might have made room, so check again before sleeping.
                match completions.as_mut().poll(context) {
                    Poll::Ready(Ok(())) => Poll::Ready(Ok(false)),
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    Poll::Pending => Poll::Pending,
                }
            });
            if room.await? {
                return Ok(());
            }
        }
    }

    /// Sends all of `datagrams`, and waits for room if there is none. Stops early only at a
    /// datagram that the kernel rejects ([`Stop::Refused`]). If the future is dropped, some
    /// datagrams are sent and the remaining ones are not. Where that matters, use
    /// [`room`](Self::room) and [`LimitedUdp::try_send`].
    ///
    /// # Errors
    /// As for [`room`](Self::room); the number of datagrams already sent is lost then.
    ///
    /// # Panics
    /// As [`room`](Self::room).
    pub async fn send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        let mut all: Option<Sent> = None;
        loop {
            self.room().await?;
            let done = all.map_or(0, |all| all.count);
            let sent = self.limited.try_send(&datagrams[done..])?;
            let total = all.get_or_insert(Sent::all(sent.first, 0));
            total.count += sent.count;
            total.was_idle |= sent.was_idle;
            total.stop = sent.stop;
            if !matches!(sent.stop, Some(Stop::NoRoom | Stop::BufferFull)) {
                return Ok(*total);
            }
        }
    }

    fn readers(&self) -> MutexGuard<'_, WaitQueue> {
        // No code between lock and unlock panics.
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for notifications of the kernel or the next deadline, processes them, and returns. A
    /// task that waits for room does this itself. Call it in a loop if
    /// [departures](crate::Observer) must be reported at once while no task sends.
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    ///
    /// # Panics
    /// In a runtime without time.
    pub async fn news(&self) -> io::Result<()> {
        let now_ns = LimitedUdp::now_ns();
        let left = match self.limited.next_wakeup() {
            Some(at_ns) => Duration::from_nanos(at_ns.saturating_sub(now_ns)).min(LONGEST_WAIT),
            None => LONGEST_WAIT,
        };
        if let Ok(ready) = time::timeout(left, self.errors.readable()).await {
            // Clear the flag before checking the condition: an entry in between raises it again.
            ready?.clear_ready();
            self.limited.complete()?;
            // The inner descriptor reports readiness once until it is checked.
            if sys::epoll::is_ready(self.errors.get_ref().as_fd()) {
                self.limited.complete_pending()?;
            }
            return Ok(());
        }
        self.limited.complete()?;
        Ok(())
    }

    /// Receives a datagram. Errors of sent datagrams are counted and do not end it.
    ///
    /// # Errors
    /// Those of receiving.
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let readable = match self.readable.get() {
            Some(readable) => readable,
            None => {
                let watched = sys::epoll::watch(self.limited.socket().try_clone()?)?;
                self.readable.get_or_init(|| watched)
            }
        };
        loop {
            let mut ready = readable.readable().await?;
            match self.limited.recv_from(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                received => return received,
            }
        }
    }
}
