//! The sending half of an endpoint's socket.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;

use crate::async_udp::AsyncUdp;
use crate::datagram::Datagram;
use crate::quality::CompletionQuality;
use crate::quic::stats::Stats;
use crate::sent::Stop;
use crate::socket::LimitedUdp;

/// A full datagram on the wire, to compute the number in a send.
const DATAGRAM_BYTES: u64 = 1_500;
/// Errors of a kernel without segmentation, and of a device without checksums.
const GSO_ERRORS: [i32; 2] = [libc::EINVAL, libc::EIO];

/// The sending half of an endpoint's socket, from
/// [`SocketLimiter::socket`](crate::quic::SocketLimiter::socket). Its port is free when it and its
/// [senders](crate::quic::Sender) were dropped.
#[derive(Debug)]
pub struct Socket {
    udp: AsyncUdp,
    send_ns: u64,
    max_datagrams: usize,
    gso_disabled: AtomicBool,
    send_errors: AtomicU64,
}

impl Socket {
    pub(super) fn new(udp: AsyncUdp, send_ns: u64, max_datagrams: usize) -> Arc<Self> {
        udp.read_always();
        Arc::new(Self {
            udp,
            send_ns,
            max_datagrams,
            gso_disabled: AtomicBool::new(false),
            send_errors: AtomicU64::new(0),
        })
    }

    pub(super) fn limited(&self) -> &LimitedUdp {
        self.udp.limited()
    }

    /// Sends `datagram`, for which there was room when the connection polled. It is sent even
    /// without room here: a stateless reply does not poll, and the stack would not retry it.
    /// A send that the kernel rejects is counted, and is not an error.
    ///
    /// # Errors
    /// `WouldBlock` if the kernel accepts no more; the error of the socket, if it cannot be read.
    pub fn send(&self, datagram: Datagram<'_>) -> io::Result<()> {
        let sent = self.limited().send_unlimited(&[datagram])?;
        match sent.stop {
            None => Ok(()),
            Some(Stop::NoRoom | Stop::BufferFull) => Err(io::ErrorKind::WouldBlock.into()),
            Some(Stop::Refused(errno)) => {
                self.send_errors.fetch_add(1, Relaxed);
                if datagram.datagrams() > 1 && GSO_ERRORS.contains(&errno) {
                    self.gso_disabled.store(true, Relaxed);
                }
                // QUIC counts unsent packets as lost, and a short outage of the path must not end
                // all connections of the endpoint.
                Ok(())
            }
        }
    }

    /// Returns the maximum number of datagrams of one send now.
    ///
    /// At least as many as the path moves in the time of a send, and as many as the kernel accepts
    /// on an immediate path. With single datagrams, the CPU might never saturate the path, and its
    /// rate would stay unknown.
    pub fn send_datagrams(&self) -> usize {
        if self.gso_disabled.load(Relaxed) {
            return 1;
        }
        let max = self.max_datagrams;
        if self.limited().completion_quality() == CompletionQuality::Immediate {
            return max;
        }
        let bytes =
            u128::from(self.limited().min_units_per_s()) * u128::from(self.send_ns) / 1_000_000_000;
        let datagrams = bytes / u128::from(DATAGRAM_BYTES);
        usize::try_from(datagrams)
            .unwrap_or(max)
            .clamp(1, max.max(1))
    }

    /// Polls a receiving call of the stack. The error of an earlier sent datagram is counted, and
    /// the call is repeated.
    ///
    /// # Errors
    /// Other errors of the call.
    pub fn poll_receive<T>(
        &self,
        mut receive: impl FnMut() -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        loop {
            match receive() {
                Poll::Ready(Err(error)) if self.limited().is_send_error(&error) => {}
                received => return received,
            }
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            socket: self.limited().snapshot(),
            send_datagrams: self.send_datagrams(),
            completion_runs: self.limited().lock().turns.reader_runs,
            send_errors: self.send_errors.load(Relaxed),
            gso_disabled: self.gso_disabled.load(Relaxed),
        }
    }
}
