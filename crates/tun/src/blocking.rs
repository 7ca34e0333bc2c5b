//! A socket of a tunnel, for threads.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use taut_udp::{LimitedUdp, ThreadWaker};

use crate::link::{Link, SendReport, Sending};
use crate::tunnel::Tunnel;

/// Interval of attempts while the send buffer is full, and after the socket failed.
const RETRY: Duration = Duration::from_millis(1);

/// A UDP socket of a [`Tunnel`], for threads. A clone is the same socket.
///
/// A thread reads the kernel's completions and runs the timers of the tunnel. It ends when the last
/// clone is dropped. Datagrams in the kernel are then abandoned.
#[derive(Clone)]
pub struct BlockingTunSocket(Arc<ThreadSocket>);

struct ThreadSocket {
    parts: Arc<ThreadParts>,
    thread: Option<thread::JoinHandle<()>>,
}

struct ThreadParts {
    link: Link,
    waker: Arc<ThreadWaker>,
    is_closed: AtomicBool,
}

impl Drop for ThreadSocket {
    fn drop(&mut self) {
        self.parts.is_closed.store(true, Ordering::Release);
        Waker::from(Arc::clone(&self.parts.waker)).wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Tunnel<T> {
    /// Adds a socket, bound or connected.
    ///
    /// # Errors
    /// Those of [`taut_udp::Builder::build`], and of starting a thread.
    pub fn blocking_socket(&self, udp: UdpSocket) -> io::Result<BlockingTunSocket> {
        let waker = ThreadWaker::new()?;
        let nudge = Waker::from(Arc::clone(&waker));
        let parts = Arc::new(ThreadParts {
            link: Link::open(&self.core, udp, Arc::new(move || nudge.wake_by_ref()))?,
            waker,
            is_closed: AtomicBool::new(false),
        });
        let driven = Arc::clone(&parts);
        let thread = thread::Builder::new()
            .name("taut-tun".to_owned())
            .spawn(move || driven.drive())?;
        Ok(BlockingTunSocket(Arc::new(ThreadSocket {
            parts,
            thread: Some(thread),
        })))
    }
}

impl ThreadParts {
    fn drive(&self) {
        while !self.is_closed.load(Ordering::Acquire) {
            let planned_ns = self.link.core.tick(LimitedUdp::now_ns());
            let udp = &self.link.udp;
            if udp.wait_or_woken(Some(planned_ns), &self.waker).is_err() {
                thread::sleep(RETRY);
            }
            self.link.settle();
        }
    }
}

impl BlockingTunSocket {
    /// Sends all `(payload, destination)` of `items`. A datagram that the kernel rejects is counted
    /// and does not end the batch. Waits only while the kernel's send buffer is full.
    ///
    /// Stops if the send buffer is full when `timeout` has passed (`None`: never).
    /// [`SendReport::unsent`] is then the number of the last items, which were not sent. The
    /// iterator must be finite, because the remainder is consumed to count it. A packet that the
    /// caller sends again after it expired is unmatched
    /// ([`PathCounters::late_residuals`](crate::PathCounters::late_residuals)).
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    pub fn send<P: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, SocketAddr)>,
        timeout: Option<Duration>,
    ) -> io::Result<SendReport> {
        let started = Instant::now();
        let mut sending = Sending::new(items);
        while !sending.send(&self.0.parts.link)? {
            if timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
                return Ok(sending.stop());
            }
            thread::sleep(RETRY);
        }
        Ok(sending.report)
    }

    /// Receives a datagram. Errors of sent datagrams are counted and do not end it.
    ///
    /// # Errors
    /// Those of receiving: `WouldBlock` if the socket is non-blocking.
    pub fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.limited().recv_from(into)
    }

    /// Returns the limited socket, for its state. Its own limit is off. A datagram that is sent
    /// through it is not counted by the tunnel.
    pub fn limited(&self) -> &LimitedUdp {
        &self.0.parts.link.udp
    }
}
