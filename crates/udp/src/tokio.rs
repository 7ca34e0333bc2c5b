//! Sending and waiting for room as futures of tokio.
//!
//! tokio's own write readiness is never used: an entry of the error queue raises `EPOLLERR`, which is
//! read together with `EPOLLOUT` as "the write side is closed" and is never cleared, and a task that
//! waits for it spins. A second epoll descriptor that listens for errors only tells of completions.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::sync::OnceLock;
use std::task::Poll;
use std::time::Duration;

use taut_dql::tasks::Ticket;
use tokio::io::unix::AsyncFd;
use tokio::{task, time};

use crate::builder::Builder;
use crate::datagram::Datagram;
use crate::error::failed;
use crate::socket::{LimitedUdp, Sent, Stop};
use crate::sys;

/// How long a task sleeps that waits and has nobody to say until when.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A [`LimitedUdp`] on tokio. Any number of tasks may send through it; they get room in the order in
/// which they came.
///
/// Every task that waits takes the news for all, so none has to be spawned for it. Needs a runtime
/// with I/O and time turned on.
#[derive(Debug)]
pub struct AsyncUdp {
    limited: LimitedUdp,
    errors: AsyncFd<OwnedFd>,
    /// A second descriptor of the same socket, which only waits to be readable, from the first time on
    /// that somebody receives here.
    readable: OnceLock<AsyncFd<UdpSocket>>,
}

/// A place among those who wait, given back also when the future is dropped.
struct Place<'a> {
    limited: &'a LimitedUdp,
    ticket: Option<Ticket>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.limited.leave(ticket);
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
            readable: OnceLock::new(),
        })
    }

    /// The limited socket: everything that does not wait.
    pub fn limited(&self) -> &LimitedUdp {
        &self.limited
    }

    /// Waits in turn until there is room for one more datagram. Cancel-safe: a future that is dropped
    /// gives its place up. Where there always is room, it still lets other tasks run now and then.
    ///
    /// # Errors
    /// Only if the socket itself cannot be asked.
    pub async fn room(&self) -> io::Result<()> {
        let mut place = Place {
            limited: &self.limited,
            ticket: None,
        };
        // On a path that takes whatever it is given, a sender would never return to the runtime.
        task::consume_budget().await;
        loop {
            let mut news = pin!(self.news());
            let room = std::future::poll_fn(|context| {
                if self
                    .limited
                    .poll_room(&mut place.ticket, context)
                    .is_ready()
                {
                    return Poll::Ready(Ok(true));
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

    /// Sends all of `datagrams` and waits for room where there is none; stops early only at one that
    /// the kernel refuses ([`Stop::Refused`]). Dropped half-way, some are sent and the rest are not:
    /// use [`room`](Self::room) and [`LimitedUdp::try_send`] where that matters.
    ///
    /// # Errors
    /// Only if the socket itself cannot be asked.
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

    /// Takes news whenever the kernel has some, or it is time to look, and returns after each time.
    /// Tasks that wait for room do this themselves; call it in a loop where
    /// [departures](crate::Observer) must be heard at once although nobody sends.
    ///
    /// # Errors
    /// Only if the socket itself cannot be asked.
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
