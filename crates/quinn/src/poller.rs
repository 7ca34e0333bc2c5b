//! Waiting for room, in FIFO order.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use quinn::UdpPoller;
use taut_udp::Ticket;

use crate::shared_socket::SharedSocket;

/// The place of a connection in the wait queue. It never uses tokio's write readiness: completions
/// raise `EPOLLERR`, which tokio reports as a closed write side and never clears.
pub(crate) struct Poller {
    socket: Arc<SharedSocket>,
    place: Mutex<Option<Ticket>>,
}

impl Poller {
    pub(crate) fn new(socket: Arc<SharedSocket>) -> Self {
        Self {
            socket,
            place: Mutex::new(None),
        }
    }
}

impl UdpPoller for Poller {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = place.is_some();
        let room = self.socket.limited().poll_room(&mut place, context);
        if room.is_pending() && !waited {
            self.socket.waits.fetch_add(1, Relaxed);
        }
        room.map_err(io::Error::other)
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let place = self.place.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(ticket) = place.take() {
            self.socket.limited().cancel_wait(ticket);
        }
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").finish_non_exhaustive()
    }
}
