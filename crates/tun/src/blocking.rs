//! A socket of a tunnel, for threads.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use taut_udp::LimitedUdp;

use crate::core::Nudge;
use crate::link::{BATCH, Link, SendReport};
use crate::tunnel::Tunnel;

/// Interval of attempts while the send buffer is full, and after the socket failed.
const RETRY: Duration = Duration::from_millis(1);
/// After an event of the socket, its notifications are there already.
const PENDING_NS: u64 = 1_000_000;

/// A UDP socket of a [`Tunnel`], for threads. A clone is the same socket.
///
/// A thread reads the kernel's completions and runs the timers of the tunnel. It ends when the last
/// clone is dropped. Datagrams in the kernel are then abandoned.
#[derive(Clone)]
pub struct BlockingTunSocket(Arc<ThreadSocket>);

struct ThreadSocket {
    parts: Arc<ThreadParts>,
    thread: Option<thread::JoinHandle<()>>,
    nudge: Nudge,
}

struct ThreadParts {
    udp: LimitedUdp,
    link: Link,
    is_closed: AtomicBool,
}

impl Drop for ThreadSocket {
    fn drop(&mut self) {
        self.parts.is_closed.store(true, Ordering::Release);
        (self.nudge)();
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
        let (builder, departures) = self.socket.builder(udp);
        let udp = builder.build()?;
        let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let written = Arc::clone(&event);
        let nudge: Nudge = Arc::new(move || {
            // Cannot fail: the counter does not overflow, because the driver reads it.
            let _ = rustix::io::write(&*written, &1_u64.to_ne_bytes());
        });
        let link = Link::new(&self.core, departures, Arc::clone(&nudge));
        let parts = Arc::new(ThreadParts {
            udp,
            link,
            is_closed: AtomicBool::new(false),
        });
        let driven = Arc::clone(&parts);
        let thread = thread::Builder::new()
            .name("taut-tun".to_owned())
            .spawn(move || driven.drive(&event))?;
        Ok(BlockingTunSocket(Arc::new(ThreadSocket {
            parts,
            thread: Some(thread),
            nudge,
        })))
    }
}

impl ThreadParts {
    fn drive(&self, event: &impl AsFd) {
        while !self.is_closed.load(Ordering::Acquire) {
            let now_ns = LimitedUdp::now_ns();
            let planned_ns = self.link.core.tick(now_ns);
            let until_ns = self.udp.next_wakeup().unwrap_or(u64::MAX).min(planned_ns);
            let left_ns = until_ns.saturating_sub(now_ns);
            let timeout = Timespec {
                tv_sec: (left_ns / 1_000_000_000) as _,
                tv_nsec: (left_ns % 1_000_000_000) as _,
            };
            // The kernel reports POLLERR of the socket even if it is not requested.
            let mut waiting = [
                PollFd::new(&self.udp, PollFlags::empty()),
                PollFd::new(event, PollFlags::IN),
            ];
            let polled = poll(&mut waiting, Some(&timeout));
            let has_errors = polled.is_ok() && !waiting[0].revents().is_empty();
            if polled.is_ok() && !waiting[1].revents().is_empty() {
                let _ = rustix::io::read(event, &mut [0; 8]);
            }
            let completed = if has_errors {
                let deadline_ns = LimitedUdp::now_ns() + PENDING_NS;
                self.udp.wait(Some(deadline_ns))
            } else {
                self.udp.complete()
            };
            if completed.is_err() || polled.is_err() {
                // The socket failed, or a signal arrived.
                thread::sleep(RETRY);
            }
            self.link.settle(&self.udp);
        }
    }
}

impl BlockingTunSocket {
    /// Sends all `(payload, destination)` of `items`. A datagram that the kernel rejects is counted
    /// and does not end the batch. Waits only while the kernel's send buffer is full, and as long
    /// as it is: see [`send_timeout`](Self::send_timeout).
    ///
    /// # Errors
    /// Returns an error only if the socket cannot be read.
    pub fn send<P: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, SocketAddr)>,
    ) -> io::Result<SendReport> {
        self.send_until(items, None)
    }

    /// As [`send`](Self::send), but stops if the send buffer is full when `timeout` has passed.
    /// [`SendReport::unsent`] is then the number of the last items, which were not sent.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn send_timeout<P: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, SocketAddr)>,
        timeout: Duration,
    ) -> io::Result<SendReport> {
        self.send_until(items, Instant::now().checked_add(timeout))
    }

    fn send_until<P: AsRef<[u8]>>(
        &self,
        items: impl IntoIterator<Item = (P, SocketAddr)>,
        deadline: Option<Instant>,
    ) -> io::Result<SendReport> {
        let ThreadParts { udp, link, .. } = &*self.0.parts;
        let mut report = SendReport::default();
        let mut items = items.into_iter();
        loop {
            let batch: Vec<_> = items.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(report);
            }
            let mut done = 0;
            while done < batch.len() {
                done += link.send(udp, &batch[done..], &mut report)?;
                let left = batch.len() - done;
                if left > 0 && deadline.is_some_and(|at| Instant::now() >= at) {
                    report.unsent = left + items.count();
                    return Ok(report);
                }
                if left > 0 {
                    thread::sleep(RETRY);
                }
            }
        }
    }

    /// Receives a datagram. Errors of sent datagrams are counted and do not end it.
    ///
    /// # Errors
    /// Those of receiving: `WouldBlock` if the socket is non-blocking.
    pub fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.parts.udp.recv_from(into)
    }

    /// Returns the limited socket, for its state. Its own limit is off. A datagram that is sent
    /// through it is not counted by the tunnel.
    pub fn limited(&self) -> &LimitedUdp {
        &self.0.parts.udp
    }
}
