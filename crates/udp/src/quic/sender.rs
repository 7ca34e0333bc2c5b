//! Waiting for room, in FIFO order.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::datagram::Datagram;
use crate::place::Place;
use crate::quic::socket::Socket;

/// Sends for one connection, with a place of its own in the wait queue. It never uses tokio's write
/// readiness: completions raise `EPOLLERR`, which tokio reports as a closed write side and never
/// clears.
#[derive(Debug)]
pub struct Sender {
    socket: Arc<Socket>,
    place: Place,
}

impl Sender {
    /// Creates a sender of `socket`.
    pub fn new(socket: Arc<Socket>) -> Self {
        let place = Place::new(socket.limited());
        Self { socket, place }
    }

    /// Waits for room. Nothing is reserved.
    ///
    /// # Errors
    /// The error of the socket, if it cannot be read.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.place.poll_room(context)
    }

    /// Waits for room, and sends `datagram`. If the context cannot wake a task, as for stateless
    /// replies, it sends without room, because the stack would not retry.
    ///
    /// # Errors
    /// The error of the socket, if it cannot be read.
    pub fn poll_send(
        &mut self,
        datagram: Datagram<'_>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        // A waker without data refers to no task.
        if context.waker().data().is_null() {
            return Poll::Ready(self.socket.send(datagram));
        }
        loop {
            ready!(self.poll_room(context))?;
            match self.socket.send(datagram) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return Poll::Ready(sent),
            }
        }
    }

    /// Returns the maximum number of datagrams of one send now.
    pub fn send_datagrams(&self) -> usize {
        self.socket.send_datagrams()
    }
}
