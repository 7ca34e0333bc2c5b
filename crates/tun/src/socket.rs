//! A socket of a tunnel on tokio.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use taut_udp::LimitedUdp;
use taut_udp::async_udp::AsyncUdp;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{self, Instant};

use crate::link::{Link, SendReport, Sending};
use crate::tunnel::Tunnel;

/// Interval of attempts while the send buffer is full.
const RETRY: Duration = Duration::from_millis(1);
/// Interval of attempts after the socket failed.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// A UDP socket of a [`Tunnel`], on tokio. A clone is the same socket.
///
/// A task reads the kernel's completions and runs the timers of the tunnel. It ends when the last
/// clone is dropped. Datagrams in the kernel are then abandoned.
#[derive(Clone)]
pub struct TunSocket {
    parts: Arc<TaskParts>,
    /// Aborted when the last clone is dropped.
    _driver: Arc<JoinSet<()>>,
}

struct TaskParts {
    udp: AsyncUdp,
    link: Link,
    nudge: Arc<Notify>,
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Tunnel<T> {
    /// Adds a socket, bound or connected, and makes it non-blocking.
    ///
    /// # Errors
    /// Those of [`Builder::build`](taut_udp::Builder::build) and [`AsyncUdp::new`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    #[track_caller]
    pub fn socket(&self, udp: UdpSocket) -> io::Result<TunSocket> {
        let nudge = Arc::new(Notify::new());
        let notified = Arc::clone(&nudge);
        let link = Link::open(&self.core, udp, Arc::new(move || notified.notify_one()))?;
        let udp = AsyncUdp::new(link.udp.clone())?;
        let parts = Arc::new(TaskParts { udp, link, nudge });
        let mut driver = JoinSet::new();
        driver.spawn(Arc::clone(&parts).drive());
        Ok(TunSocket {
            parts,
            _driver: Arc::new(driver),
        })
    }
}

impl TaskParts {
    /// Notifications only report departures. Deadlines are checked by one timer, because it is
    /// expensive to register one for each notification.
    async fn drive(self: Arc<Self>) {
        let mut timer = pin!(time::sleep(Duration::ZERO));
        let mut nudged = pin!(self.nudge.notified());
        loop {
            let mut failed = false;
            tokio::select! {
                biased;
                completed = self.udp.process_notifications() => failed = completed.is_err(),
                () = nudged.as_mut() => {
                    nudged.set(self.nudge.notified());
                    timer.as_mut().reset(self.check());
                }
                () = timer.as_mut() => {
                    failed = self.link.udp.complete().is_err();
                    timer.as_mut().reset(self.check());
                }
            }
            self.link.settle();
            if failed {
                time::sleep(AFTER_FAILURE).await;
            }
        }
    }

    /// Checks the tunnel, and returns the next deadline.
    fn check(&self) -> Instant {
        let now_ns = LimitedUdp::now_ns();
        let planned_ns = self.link.core.tick(now_ns);
        let next_ns = self.link.udp.next_wakeup().unwrap_or(u64::MAX);
        let left_ns = next_ns.min(planned_ns).saturating_sub(now_ns);
        Instant::now() + Duration::from_nanos(left_ns)
    }
}

impl TunSocket {
    /// Sends all `(payload, destination)` of `items`. A datagram that the kernel rejects is counted
    /// and does not end the batch. Waits only while the kernel's send buffer is full. If the future
    /// is dropped, some items are sent and the others are lost.
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    pub async fn send<P: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, SocketAddr)>,
    ) -> io::Result<SendReport> {
        let mut sending = Sending::new(items);
        while !sending.send(&self.parts.link)? {
            time::sleep(RETRY).await;
        }
        Ok(sending.report)
    }

    /// Receives a datagram. Errors of sent datagrams are counted and do not end it.
    ///
    /// # Errors
    /// Those of receiving.
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.parts.udp.recv_from(into).await
    }

    /// Returns the limited socket, for its state. Its own limit is off. A datagram that is sent
    /// through it is not counted by the tunnel.
    pub fn limited(&self) -> &LimitedUdp {
        &self.parts.link.udp
    }
}
