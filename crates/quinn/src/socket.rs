//! An `AsyncUdpSocket` of quinn over a limited socket.

use std::future::{Future, poll_fn};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use taut_udp::async_udp::AsyncUdp;
use taut_udp::{CompletionQuality, Datagram, LimitedUdp, Source, Stop};

use crate::poller::Poller;
use crate::settings::Settings;
use crate::shared_socket::SharedSocket;
use crate::stats::Stats;

/// A full datagram on the wire, to compute the number in a send.
const DATAGRAM_BYTES: u64 = 1_500;
/// Errors of a kernel without segmentation, and of a device without checksums.
const GSO_ERRORS: [i32; 2] = [libc_errno::EINVAL, libc_errno::EIO];

/// Error numbers that are the same on all architectures of Linux.
mod libc_errno {
    pub(super) const EIO: i32 = 5;
    pub(super) const EINVAL: i32 = 22;
}

#[derive(Debug)]
pub(crate) struct Socket {
    /// The socket of the wrapped runtime, for receiving.
    inner: Arc<dyn AsyncUdpSocket>,
    shared: Arc<SharedSocket>,
    send_ns: u64,
    gso_disabled: AtomicBool,
    send_errors: AtomicU64,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The port is free only after the task has released it, too.
        self.shared.is_closed.store(true, Relaxed);
        self.shared.wake.notify_one();
    }
}

impl Socket {
    pub(crate) fn new(
        inner: Arc<dyn AsyncUdpSocket>,
        socket: UdpSocket,
        settings: &Settings,
    ) -> io::Result<Self> {
        let builder = LimitedUdp::builder(socket)
            .limit(settings.limit.clone())
            .cap_ns(settings.cap_ns)
            // An error there would end a connection. The caller bounds the number of connections of
            // an endpoint.
            .waiters(usize::MAX);
        let builder = match settings.source {
            Some(only) => builder.source(only),
            None => builder
                .source(Source::ZeroCopy)
                .fallback_source(Source::Polled)
                .fallback_source(Source::Timestamps),
        };
        Ok(Self {
            inner,
            shared: Arc::new(SharedSocket::new(AsyncUdp::build(builder)?)),
            send_ns: settings.send_ns,
            gso_disabled: AtomicBool::new(false),
            send_errors: AtomicU64::new(0),
        })
    }

    pub(crate) fn limited(&self) -> &LimitedUdp {
        self.shared.limited()
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            socket: self.limited().snapshot(),
            send_datagrams: self.max_transmit_segments(),
            waits: self.shared.waits.load(Relaxed),
            completion_runs: self.shared.completion_runs.load(Relaxed),
            send_errors: self.send_errors.load(Relaxed),
            gso_disabled: self.gso_disabled.load(Relaxed),
        }
    }

    /// Processes notifications until the socket is closed.
    pub(crate) fn process_notifications(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            while !shared.is_closed.load(Relaxed) {
                shared.completion_runs.fetch_add(1, Relaxed);
                let mut notifications = pin!(shared.socket.news());
                let mut wake = pin!(shared.wake.notified());
                let done = poll_fn(|context| match wake.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(Ok(())),
                    Poll::Pending => notifications.as_mut().poll(context),
                });
                let done = done.await;
                if done.is_err() {
                    return;
                }
            }
        }
    }

    /// Sends `transmit`, for which there was room when the connection polled. It is sent even
    /// without room here: a stateless reply does not poll, and quinn would not retry it.
    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let mut datagram = Datagram::new(transmit.contents)
            .to(transmit.destination)
            .traffic_class(transmit.ecn.map_or(0, |ecn| ecn as u8));
        if let Some(segment) = transmit.segment_size {
            datagram = datagram.segmented(u16::try_from(segment).unwrap_or(u16::MAX));
        }
        if let Some(from) = transmit.src_ip {
            datagram = datagram.from(from);
        }
        let sent = self.limited().send_unlimited(&[datagram])?;
        if sent.was_idle {
            self.shared.wake.notify_one();
        }
        match sent.stop {
            None => Ok(()),
            Some(Stop::NoRoom | Stop::BufferFull) => Err(io::ErrorKind::WouldBlock.into()),
            Some(Stop::Refused(errno)) => {
                self.send_errors.fetch_add(1, Relaxed);
                if transmit.segment_size.is_some() && GSO_ERRORS.contains(&errno) {
                    self.gso_disabled.store(true, Relaxed);
                }
                // As quinn's own socket: QUIC counts unsent packets as lost, and a short outage of
                // the path must not end all connections of the endpoint.
                Ok(())
            }
        }
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller::new(Arc::clone(&self.shared)))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.inner.poll_recv(context, buffers, meta) {
                // An error of a sent datagram, which is counted there and does not end receiving.
                Poll::Ready(Err(error)) if self.limited().is_send_error(&error) => {}
                received => return received,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// At least as many as the path moves in the time of a send, and as many as the kernel accepts
    /// on an immediate path. With single datagrams, the CPU might never saturate the path, and its
    /// rate would stay unknown.
    fn max_transmit_segments(&self) -> usize {
        if self.gso_disabled.load(Relaxed) {
            return 1;
        }
        let most = self.inner.max_transmit_segments();
        if self.limited().completion_quality() == CompletionQuality::Immediate {
            return most;
        }
        let bytes =
            u128::from(self.limited().min_units_per_s()) * u128::from(self.send_ns) / 1_000_000_000;
        let datagrams = bytes / u128::from(DATAGRAM_BYTES);
        usize::try_from(datagrams)
            .unwrap_or(most)
            .clamp(1, most.max(1))
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
