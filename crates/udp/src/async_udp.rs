//! Sending and waiting for room as futures of tokio.
//!
//! tokio's own write readiness is never used. An entry of the error queue raises `EPOLLERR`, which
//! together with `EPOLLOUT` means "the write side is closed" and is never cleared, so a waiting
//! task would spin. A second epoll descriptor that reports only errors signals completions.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use taut_dql::tasks::Priority;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::task::{self, JoinSet};

use crate::datagram::{Datagram, header_bytes};
use crate::error::failed;
use crate::permit::Permit;
use crate::place::Place;
use crate::reader::{process, read};
use crate::sent::Sent;
use crate::socket::LimitedUdp;
use crate::state::{Room, State};
use crate::sys;

/// A [`LimitedUdp`] on tokio. Any number of tasks can send through it; they get room in FIFO order.
///
/// A woken future that is not polled (for example, held by a `select!`) reserves nothing. The next
/// completion wakes the next task in the queue. The first wait spawns a task that reads
/// notifications while others wait ([or always](Self::read_always)), until the socket is dropped.
/// Needs a runtime with I/O and time enabled.
#[derive(Debug)]
pub struct AsyncUdp {
    limited: LimitedUdp,
    errors: Arc<AsyncFd<OwnedFd>>,
    runtime: Handle,
    /// The task that reads notifications: spawned by the first wait or by `read_always`, and
    /// aborted when this set is dropped.
    reader: OnceLock<JoinSet<()>>,
    /// A second descriptor of the same socket, which waits only for readability. Created by the
    /// first receive.
    readable: OnceLock<AsyncFd<UdpSocket>>,
}

impl AsyncUdp {
    /// Waits on tokio for room of `limited`, and makes its socket non-blocking.
    ///
    /// The first wait spawns the task that reads completions, on its runtime. After that runtime
    /// ended, or while no thread drives it, waits on other runtimes do not end: use one runtime.
    ///
    /// # Errors
    /// Those of `epoll`.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O. The first wait needs its timer as well: without one it
    /// does not end.
    #[track_caller]
    pub fn new(limited: LimitedUdp) -> io::Result<Self> {
        let runtime = Handle::current();
        limited.socket().set_nonblocking(true)?;
        let epoll =
            sys::epoll::for_errors(limited.as_fd()).map_err(|error| failed("epoll_ctl", &error))?;
        Ok(Self {
            limited,
            errors: Arc::new(sys::epoll::watch(epoll)?),
            runtime,
            reader: OnceLock::new(),
            readable: OnceLock::new(),
        })
    }

    /// Returns the limited socket, for all calls that do not wait.
    pub fn limited(&self) -> &LimitedUdp {
        &self.limited
    }

    /// Waits in FIFO order for room, and reserves it for one object of `bytes` on the wire, as
    /// [`LimitedUdp::try_reserve`] does. Cancel-safe: a dropped future leaves the wait queue and
    /// reserves nothing. If there is always room, it still yields to other tasks at times.
    ///
    /// ```
    /// # use std::net::UdpSocket;
    /// # use taut_udp::{Datagram, LimitedUdp, async_udp::AsyncUdp};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// # let peer = UdpSocket::bind("127.0.0.1:0")?;
    /// # let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// # socket.connect(peer.local_addr()?)?;
    /// let socket = AsyncUdp::new(LimitedUdp::new(socket)?)?;
    /// let permit = socket.reserve(1242).await?;
    /// // The permit can be passed to another task. Dropped, it releases its bytes.
    /// let sent = permit.send(&[Datagram::new(&[0; 1200])])?;
    /// assert_eq!((sent.count, sent.stop), (1, None));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - `InvalidInput` for more bytes than [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    /// - `QuotaExceeded` if more tasks wait than [`Builder::waiters`](crate::Builder::waiters).
    /// - The error of the socket, if it cannot be read.
    pub async fn reserve(&self, bytes: u32) -> io::Result<Permit> {
        self.reserve_as(bytes, Priority::Normal).await
    }

    /// As [`reserve`](Self::reserve), for a datagram with a payload of `payload_bytes`: adds its
    /// headers, over IPv4 or IPv6 as the connected peer, or else the socket.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve).
    pub async fn reserve_payload(&self, payload_bytes: u32) -> io::Result<Permit> {
        let header_bytes = header_bytes(self.limited.lock().ipv4);
        self.reserve(payload_bytes.saturating_add(header_bytes))
            .await
    }

    /// As [`reserve`](Self::reserve), with a priority: an urgent task precedes all waiting tasks
    /// that are not urgent.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve).
    pub async fn reserve_as(&self, bytes: u32, priority: Priority) -> io::Result<Permit> {
        self.turn(|place, context| place.poll_reserve(bytes, priority, context))
            .await
    }

    /// Waits in FIFO order until there is room for one more datagram. The result is advisory: it
    /// reserves nothing, and another task can take the room before the caller sends. Use
    /// [`reserve`](Self::reserve) or [`send`](Self::send) where that matters. Cancel-safe, as
    /// `reserve`.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve).
    pub async fn wait_for_room(&self) -> io::Result<()> {
        self.turn(Place::poll_room).await
    }

    /// Polls for a turn, and yields to other tasks at times although there is always room.
    async fn turn<T>(
        &self,
        mut poll: impl FnMut(&mut Place, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        task::consume_budget().await;
        let mut place = Place::new(&self.limited);
        poll_fn(|context| {
            let polled = poll(&mut place, context);
            if polled.is_pending() {
                self.reader.get_or_init(|| self.spawn_reader());
            }
            polled
        })
        .await
    }

    /// Reads notifications from now on also while no task waits for room, so that
    /// [departures](crate::Observer) are reported at once. The spawned task does it, and needs a
    /// runtime with time. It discards an error while no task waits, and reads again after 100 ms.
    pub fn read_always(&self) {
        self.limited.update(|state| {
            state.turns.reads_always = true;
            state.turns.check_reader();
        });
        self.reader.get_or_init(|| self.spawn_reader());
    }

    fn spawn_reader(&self) -> JoinSet<()> {
        let changed = Arc::clone(&self.limited.lock().turns.changed);
        let errors = Arc::clone(&self.errors);
        let mut tasks = JoinSet::new();
        let limited = Arc::downgrade(&self.limited.shared);
        tasks.spawn_on(read(limited, errors, changed), &self.runtime);
        tasks
    }

    /// Sends all of `datagrams`, and waits for room if there is none. Stops early only at a
    /// datagram that the kernel rejects ([`Stop::Refused`](crate::Stop::Refused)). If the future is
    /// dropped, some datagrams are sent and the remaining ones are not. Where that matters, use
    /// [`reserve`](Self::reserve) and [`Permit::send`].
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve), if nothing was sent. Otherwise it stops with
    /// [`Stop::NoRoom`](crate::Stop::NoRoom).
    pub async fn send(&self, datagrams: &[Datagram<'_>]) -> io::Result<Sent> {
        self.send_as(datagrams, Priority::Normal).await
    }

    /// As [`send`](Self::send), with a priority: an urgent task precedes all waiting tasks that are
    /// not urgent.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub async fn send_as(
        &self,
        datagrams: &[Datagram<'_>],
        priority: Priority,
    ) -> io::Result<Sent> {
        let mut all: Option<Sent> = None;
        loop {
            let left = &datagrams[all.map_or(0, |all| all.count)..];
            let limited = &self.limited;
            let send = |state: &mut State| state.send(limited.socket(), left, Room::Needed);
            let sent = self
                .turn(|place, context| place.poll_turn(priority, context, send))
                .await;
            if let ControlFlow::Break(sent) = Sent::extend(&mut all, sent) {
                return sent;
            }
        }
    }

    /// Waits for notifications of the kernel, processes them, and returns. In contrast to
    /// [`read_always`](Self::read_always), it ignores deadlines: with a timer of its own, the
    /// caller must call [`LimitedUdp::complete`] at [`LimitedUdp::next_wakeup`]. Cancel-safe.
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    pub async fn process_notifications(&self) -> io::Result<()> {
        let ready = self.errors.readable().await?;
        process(&self.limited, Some(ready))
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
