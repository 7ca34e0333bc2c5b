//! An HTTP server for a few clients, which slow clients cannot fill or block.
//!
//! One thread, at most [`MAX_CONNECTIONS`] connections, a few KiB for each, one response that all
//! share. A new client replaces the one that has been silent the longest.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, MAX_TIME};

const MAX_CONNECTIONS: usize = 128;
const LISTENER: Token = Token(MAX_CONNECTIONS);
/// Connections accepted before the open ones are served again.
const BATCH: usize = 64;

/// A listening socket and its clients.
#[derive(Debug)]
pub struct Server {
    poll: Poll,
    events: Events,
    listener: TcpListener,
    clients: Vec<Option<Connection>>,
    /// More connections might wait to be accepted.
    more_pending: bool,
}

impl Server {
    /// Listens on `address`.
    ///
    /// # Errors
    /// If the socket cannot be created or bound.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(MAX_CONNECTIONS + 1),
            listener,
            clients: (0..MAX_CONNECTIONS).map(|_| None).collect(),
            more_pending: false,
        })
    }

    /// Returns the address, with the port that the kernel chose for port 0.
    ///
    /// # Errors
    /// If the kernel does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves for about `time`; `page` returns the body of the response.
    ///
    /// # Errors
    /// If waiting for events fails; errors of a client only close its connection.
    pub fn serve(&mut self, time: Duration, mut page: impl FnMut() -> Arc<[u8]>) -> io::Result<()> {
        let time = if self.more_pending {
            Duration::ZERO
        } else {
            time
        };
        match self.poll.poll(&mut self.events, Some(time)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        let ready: Vec<Token> = self.events.iter().map(|event| event.token()).collect();
        for token in &ready {
            if let Some(client) = self.clients.get_mut(token.0) {
                client.take_if(|it| it.advance(&mut page));
            }
        }
        self.close_expired();
        if self.more_pending || ready.contains(&LISTENER) {
            self.accept(&mut page);
        }
        Ok(())
    }

    fn close_expired(&mut self) {
        let now = Instant::now();
        for client in &mut self.clients {
            client.take_if(|it| now.duration_since(it.since) > MAX_TIME);
        }
    }

    fn accept(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) {
        self.more_pending = true;
        for _ in 0..BATCH {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.more_pending = false;
                    return;
                }
                // The client closed the connection, or no descriptor is free: the next call tries
                // again. The pause avoids spinning.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    return;
                }
            };
            let slot = self.free_slot();
            let mut client = Connection::new(stream, Instant::now());
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registered =
                (self.poll.registry()).register(&mut client.stream, Token(slot), interest);
            // A client whose request has arrived is served at once, before another can replace it.
            if registered.is_ok() && !client.advance(page) {
                self.clients[slot] = Some(client);
            }
        }
    }

    /// Returns a free slot, or that of the client to disconnect first.
    fn free_slot(&self) -> usize {
        let order = |slot: &usize| {
            let client = self.clients[*slot].as_ref();
            client.map(|it| (!it.is_silent(), it.since))
        };
        (0..self.clients.len()).min_by_key(order).unwrap_or(0)
    }
}
