//! The limited socket, as the endpoint's socket, its senders and the completion task use it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tokio::sync::Notify;

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

/// Everything that outlives the endpoint's socket for a moment: the completion task holds it until
/// the socket is closed.
#[derive(Debug)]
pub(super) struct EndpointSocket {
    pub(super) socket: AsyncUdp,
    /// Wakes the completion task, which sleeps long while nothing is in flight: a datagram was
    /// sent, or the socket was closed.
    pub(super) wake: Notify,
    pub(super) is_closed: AtomicBool,
    pub(super) completion_runs: AtomicU64,
    pub(super) waits: AtomicU64,
    send_ns: u64,
    max_datagrams: usize,
    gso_disabled: AtomicBool,
    send_errors: AtomicU64,
}

impl EndpointSocket {
    pub(super) fn new(socket: AsyncUdp, send_ns: u64, max_datagrams: usize) -> Self {
        Self {
            socket,
            wake: Notify::new(),
            is_closed: AtomicBool::new(false),
            completion_runs: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            send_ns,
            max_datagrams,
            gso_disabled: AtomicBool::new(false),
            send_errors: AtomicU64::new(0),
        }
    }

    pub(super) fn limited(&self) -> &LimitedUdp {
        self.socket.limited()
    }

    /// Sends `datagram` with or without room.
    pub(super) fn send(&self, datagram: Datagram<'_>) -> io::Result<()> {
        let sent = self.limited().send_unlimited(&[datagram])?;
        if sent.was_idle {
            self.wake.notify_one();
        }
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

    /// At least as many as the path moves in the time of a send, and as many as the kernel accepts
    /// on an immediate path. With single datagrams, the CPU might never saturate the path, and its
    /// rate would stay unknown.
    pub(super) fn send_datagrams(&self) -> usize {
        if self.gso_disabled.load(Relaxed) {
            return 1;
        }
        let max = self.max_datagrams;
        if self.limited().completion_quality() == CompletionQuality::Immediate {
            return max;
        }
        let bytes =
            u128::from(self.limited().min_rate()) * u128::from(self.send_ns) / 1_000_000_000;
        let datagrams = bytes / u128::from(DATAGRAM_BYTES);
        usize::try_from(datagrams)
            .unwrap_or(max)
            .clamp(1, max.max(1))
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            socket: self.limited().snapshot(),
            send_datagrams: self.send_datagrams(),
            waits: self.waits.load(Relaxed),
            completion_runs: self.completion_runs.load(Relaxed),
            send_errors: self.send_errors.load(Relaxed),
            gso_disabled: self.gso_disabled.load(Relaxed),
        }
    }
}
