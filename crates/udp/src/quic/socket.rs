//! The sending half of an endpoint's socket.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use crate::datagram::Datagram;
use crate::quic::sender::Sender;
use crate::quic::shared::EndpointSocket;

/// The sending half of an endpoint's socket, from
/// [`SocketLimiter::socket`](crate::quic::SocketLimiter::socket). Closed when it is dropped; the
/// port is free when the completion task has ended, too.
#[derive(Debug)]
pub struct Socket {
    shared: Arc<EndpointSocket>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Relaxed);
        self.shared.wake.notify_one();
    }
}

/// Interval of attempts after the socket could not be read.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

impl Socket {
    pub(super) fn new(shared: Arc<EndpointSocket>) -> Self {
        Self { shared }
    }

    /// Processes notifications until the socket is dropped. The adapter must spawn this future.
    pub fn process_notifications(&self) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            while !shared.is_closed.load(Relaxed) {
                shared.completion_runs.fetch_add(1, Relaxed);
                let done = tokio::select! {
                    biased;
                    () = shared.wake.notified() => Ok(()),
                    done = shared.socket.process_events() => done,
                };
                if let Err(error) = done {
                    shared.limited().fail_next(error);
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// Returns a sender with a place of its own in the wait queue.
    pub fn sender(&self) -> Sender {
        Sender::new(Arc::clone(&self.shared))
    }

    /// Sends `datagram`, for which there was room when the connection polled. It is sent even
    /// without room here: a stateless reply does not poll, and the stack would not retry it.
    /// A send that the kernel rejects is counted, and is not an error.
    ///
    /// # Errors
    /// `WouldBlock` if the kernel accepts no more; the error of the socket, if it cannot be read.
    pub fn send(&self, datagram: Datagram<'_>) -> io::Result<()> {
        self.shared.send(datagram)
    }

    /// Returns the maximum number of datagrams of one send now.
    pub fn send_datagrams(&self) -> usize {
        self.shared.send_datagrams()
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
                Poll::Ready(Err(error)) if self.shared.limited().is_send_error(&error) => {}
                received => return received,
            }
        }
    }
}
