//! The socket of an endpoint, with or without a limit.

use std::io;
use std::net::SocketAddr;

use taut_udp::async_udp::AsyncUdp;
use taut_udp::{Datagram, Permit, Snapshot, Stop};
use tokio::net::UdpSocket;

/// Maximum payload of a datagram, as in quiche's own programs.
pub const DATAGRAM_BYTES: usize = 1_350;

pub enum Socket {
    Plain(UdpSocket),
    Limited(AsyncUdp),
}

impl Socket {
    /// Returns the part of the congestion window that bulk data leaves for requests: priorities
    /// order only data that a stream has accepted. Without a limit it is 0, as usual: data that was
    /// accepted waits below the socket, where nothing overtakes it.
    pub fn reserved_bytes(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Limited(_) => 1_000,
        }
    }

    /// Waits for room for one datagram. Without a limit, that is room in the send buffer.
    pub async fn room(&self) -> io::Result<Option<Permit>> {
        match self {
            Self::Plain(socket) => socket.writable().await.map(|()| None),
            Self::Limited(socket) => {
                let room = socket.reserve_payload(DATAGRAM_BYTES as u32).await;
                room.map(Some)
            }
        }
    }

    /// Sends a datagram in its room. Returns `false` if the kernel does not accept it now.
    pub fn send(&self, room: Option<Permit>, payload: &[u8], to: SocketAddr) -> io::Result<bool> {
        let datagram = [Datagram::new(payload).to(to)];
        let sent = match (self, room) {
            (_, Some(room)) => room.send(&datagram)?,
            (Self::Limited(socket), None) => socket.limited().try_send(&datagram)?,
            (Self::Plain(socket), None) => {
                return match socket.try_send_to(payload, to) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
                    // quiche also repairs the loss of a datagram while there is no route.
                    Ok(_) | Err(_) => Ok(true),
                };
            }
        };
        // quiche detects and repairs the loss of a datagram that the kernel rejected.
        Ok(!matches!(sent.stop, Some(Stop::NoRoom | Stop::BufferFull)))
    }

    pub async fn receive(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Self::Plain(socket) => socket.recv_from(into).await,
            Self::Limited(socket) => socket.recv_from(into).await,
        }
    }

    /// As [`receive`](Self::receive), or `WouldBlock`.
    pub fn try_receive(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Self::Plain(socket) => socket.try_recv_from(into),
            Self::Limited(socket) => socket.limited().recv_from(into),
        }
    }

    /// Returns the state of the limit.
    pub fn snapshot(&self) -> Option<Snapshot> {
        match self {
            Self::Plain(_) => None,
            Self::Limited(socket) => Some(socket.limited().snapshot()),
        }
    }
}
