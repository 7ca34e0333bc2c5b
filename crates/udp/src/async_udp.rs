//! Sending and waiting for room as futures of tokio.
//!
//! tokio's own write readiness is never used: an entry of the error queue raises `EPOLLERR`, which
//! is read together with `EPOLLOUT` as "the write side is closed" and is never cleared, and a task
//! that waits for it spins. A second epoll descriptor that listens for errors only tells of
//! completions.

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

/// How long a task sleeps that waits and has nobody to say until when.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A [`LimitedUdp`] on tokio. Any number of tasks may send through it; they get room in the order
/// in which they came.
///
/// One of the tasks that wait takes the news for all and hands that over when it leaves, so none
/// has to be spawned for it. Needs a runtime with I/O and time turned on.
#[derive(Debug)]
pub struct AsyncUdp {
    limited: LimitedUdp,
    errors: AsyncFd<OwnedFd>,
    /// Those who wait for room: the first of them takes the news.
    takers: Mutex<WaitQueue>,
    /// A second descriptor of the same socket, which only waits to be readable, from the first time
    /// on that somebody receives here.
    readable: OnceLock<AsyncFd<UdpSocket>>,
}

/// A place among those who wait, given back also when the future is dropped.
struct Place<'a> {
    udp: &'a AsyncUdp,
    ticket: Option<Ticket>,
    /// Its place among the takers of news.
    taker: Option<Ticket>,
}

impl Place<'_> {
    /// Whether this one is to take the news; it is woken when that changes.
    fn takes_news(&mut self, context: &mut Context<'_>) -> bool {
        let mut takers = self.udp.takers();
        match &self.taker {
            Some(ticket) => takers.set_waker(ticket, context.waker()),
            // As many as may wait for room: not refused here.
            None => self.taker = takers.join(context.waker()).ok(),
        }
        self.taker.as_ref().is_some_and(|it| takers.is_first(it))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.udp.limited.cancel_wait(ticket);
        }
        let Some(ticket) = self.taker.take() else {
            return;
        };
        let mut takers = self.udp.takers();
        let took_news = takers.is_first(&ticket);
        takers.leave(ticket);
        let next = takers.first().filter(|_| took_news).cloned();
        drop(takers);
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

    /// The same with settings: [`LimitedUdp::builder`].
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
            takers: Mutex::new(WaitQueue::new(usize::MAX)),
            readable: OnceLock::new(),
        })
    }

    /// The limited socket: everything that does not wait.
    pub fn limited(&self) -> &LimitedUdp {
        &self.limited
    }

    /// Waits in turn until there is room for one more datagram. Cancel-safe: a future that is
    /// dropped gives its place up. Where there always is room, it still lets other tasks run now
    /// and then.
    ///
    /// # Errors
    /// If the socket itself cannot be asked, or more tasks wait than [may](Builder::waiters)
    /// (`QuotaExceeded`).
    ///
    /// # Panics
    /// When it waits in a runtime without time.
    pub async fn room(&self) -> io::Result<()> {
        let mut place = Place {
            udp: self,
            ticket: None,
            taker: None,
        };
        // On a path that takes whatever it is given, a sender would never return to the runtime.
        task::consume_budget().await;
        loop {
            let mut news = pin!(self.news());
            let room = std::future::poll_fn(|context| {
                match self.limited.poll_room(&mut place.ticket, context) {
                    Poll::Ready(Ok(())) => return Poll::Ready(Ok(true)),
                    Poll::Ready(Err(too_many)) => {
                        let kind = io::ErrorKind::QuotaExceeded;
                        return Poll::Ready(Err(io::Error::new(kind, too_many)));
                    }
                    Poll::Pending => {}
                }
                // A crowd that is woken by each completion costs more than it sends.
                if !place.takes_news(context) {
                    return Poll::Pending;
                }
                // What completes here may make the room, so look again before sleeping.
                match news.as_mut().poll(context) {
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

    /// Sends all of `datagrams` and waits for room where there is none; stops early only at one
    /// that the kernel refuses ([`Stop::Refused`]). Dropped half-way, some are sent and the rest
    /// are not: use [`room`](Self::room) and [`LimitedUdp::try_send`] where that matters.
    ///
    /// # Errors
    /// As for [`room`](Self::room); what was sent before is not told then.
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

    fn takers(&self) -> MutexGuard<'_, WaitQueue> {
        // Nothing between lock and unlock panics.
        self.takers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes news whenever the kernel has some, or it is time to look, and returns after each time.
    /// A task that waits for room does this itself; call it in a loop where
    /// [departures](crate::Observer) must be heard at once although nobody sends.
    ///
    /// # Errors
    /// Only if the socket itself cannot be asked.
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
            // First the flag, then what it stands for: what comes in between raises it again.
            ready?.clear_ready();
            self.limited.complete()?;
            // The inner descriptor tells only once until it is asked.
            if sys::epoll::is_ready(self.errors.get_ref().as_fd()) {
                self.limited.complete_pending()?;
            }
            return Ok(());
        }
        self.limited.complete()?;
        Ok(())
    }

    /// Receives a datagram. Errors of datagrams that were sent are counted and do not end it.
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
