//! A server for a few clients, which nobody can fill or hold up.
//!
//! One thread, at most [`MOST_CONNECTIONS`] connections, a few KiB for each, one answer that all
//! share. Where there is no room, the client that has been silent the longest goes.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, MOST_TIME, State};

const MOST_CONNECTIONS: usize = 128;
const LISTENER: Token = Token(MOST_CONNECTIONS);
/// Connections taken in before those that are there have their turn.
const BATCH: usize = 64;

/// A listening socket and its clients.
pub struct Server {
    poll: Poll,
    events: Events,
    listener: TcpListener,
    clients: Vec<Option<Connection>>,
    /// More may be waiting to be taken in.
    more: bool,
}

impl Server {
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(MOST_CONNECTIONS + 1),
            listener,
            clients: (0..MOST_CONNECTIONS).map(|_| None).collect(),
            more: false,
        })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves for about `time`; `page` makes the answer.
    pub fn serve(&mut self, time: Duration, mut page: impl FnMut() -> Arc<[u8]>) -> io::Result<()> {
        let time = if self.more { Duration::ZERO } else { time };
        match self.poll.poll(&mut self.events, Some(time)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        let ready: Vec<Token> = self.events.iter().map(|event| event.token()).collect();
        for token in &ready {
            if let Some(Some(client)) = self.clients.get_mut(token.0)
                && client.advance(&mut page) == State::Done
            {
                self.clients[token.0] = None;
            }
        }
        self.end_the_late();
        if self.more || ready.contains(&LISTENER) {
            self.take_in(&mut page);
        }
        Ok(())
    }

    fn end_the_late(&mut self) {
        let now = Instant::now();
        for client in &mut self.clients {
            if client
                .as_ref()
                .is_some_and(|it| now.duration_since(it.since) > MOST_TIME)
            {
                *client = None;
            }
        }
    }

    fn take_in(&mut self, page: &mut impl FnMut() -> Arc<[u8]>) {
        self.more = true;
        for _ in 0..BATCH {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.more = false;
                    return;
                }
                // The client left already, or there are no descriptors: the next round tries again,
                // and does not spin.
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
            // Who has asked already has its answer at once, before anybody can push it out.
            if registered.is_ok() && client.advance(page) == State::Open {
                self.clients[slot] = Some(client);
            }
        }
    }

    /// A free slot, or that of the client that should go first.
    fn free_slot(&self) -> usize {
        let order = |slot: &usize| {
            let client = self.clients[*slot].as_ref();
            client.map(|it| (!it.is_silent(), it.since))
        };
        (0..self.clients.len()).min_by_key(order).unwrap_or(0)
    }
}
