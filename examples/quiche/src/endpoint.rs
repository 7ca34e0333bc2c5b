//! A connection of quiche with its socket and timer: the program's own sending loop.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::ensure;
use quiche::{Connection, Error, RecvInfo};
use tokio::time;

use crate::socket::{DATAGRAM_BYTES, Socket};

const MAX_DATAGRAM_BYTES: usize = 65_536;
/// Without a timer of the connection, the loop looks at it this often.
const IDLE: Duration = Duration::from_secs(1);

pub struct Endpoint {
    pub connection: Connection,
    pub socket: Socket,
    local: SocketAddr,
    received: Vec<u8>,
    assembled: Vec<u8>,
    /// Length and peer of an assembled datagram that the kernel did not accept.
    unsent: Option<(usize, SocketAddr)>,
    /// quiche might have a datagram to send.
    has_more: bool,
}

impl Endpoint {
    pub fn new(connection: Connection, socket: Socket, local: SocketAddr) -> Self {
        Self {
            connection,
            socket,
            local,
            received: vec![0; MAX_DATAGRAM_BYTES],
            assembled: vec![0; DATAGRAM_BYTES],
            unsent: None,
            has_more: true,
        }
    }

    /// Completes the handshake.
    pub async fn establish(&mut self) -> anyhow::Result<()> {
        while !self.connection.is_established() {
            self.step().await?;
        }
        Ok(())
    }

    /// Waits for datagrams, the timer, or room for a datagram, and processes it. Cancel-safe.
    pub async fn step(&mut self) -> anyhow::Result<()> {
        let connection = &self.connection;
        let error = connection.peer_error().or(connection.local_error());
        ensure!(
            !connection.is_closed(),
            "the connection is closed: {error:?}"
        );
        let timer = connection.timeout_instant();
        let timer = timer.unwrap_or_else(|| Instant::now() + IDLE);
        tokio::select! {
            received = self.socket.receive(&mut self.received) => {
                self.receive_all(received)?;
                self.has_more = true;
            }
            () = time::sleep_until(timer.into()) => {
                self.connection.on_timeout();
                self.has_more = true;
            }
            // Room comes first: quiche selects the data of the datagram only then.
            room = self.socket.room(), if self.has_more => {
                let room = room?;
                if let Some((bytes, to)) = self.assemble()?
                    && !self.socket.send(room, &self.assembled[..bytes], to)?
                {
                    self.unsent = Some((bytes, to));
                }
            }
        }
        Ok(())
    }

    /// Passes `data` to a stream. Returns the bytes that it accepted.
    pub fn write(&mut self, stream: u64, data: &[u8]) -> anyhow::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let bytes = match self.connection.stream_send(stream, data, false) {
            Err(Error::Done) => 0,
            sent => sent?,
        };
        self.has_more |= bytes > 0;
        Ok(bytes)
    }

    fn receive_all(&mut self, first: io::Result<(usize, SocketAddr)>) -> anyhow::Result<()> {
        let mut received = first;
        loop {
            let (bytes, from) = match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                received => received?,
            };
            let to = self.local;
            let info = RecvInfo { from, to };
            self.connection.recv(&mut self.received[..bytes], info)?;
            received = self.socket.try_receive(&mut self.received);
        }
    }

    fn assemble(&mut self) -> anyhow::Result<Option<(usize, SocketAddr)>> {
        if let Some(unsent) = self.unsent.take() {
            return Ok(Some(unsent));
        }
        match self.connection.send(&mut self.assembled) {
            Ok((bytes, info)) => Ok(Some((bytes, info.to))),
            Err(Error::Done) => {
                self.has_more = false;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
