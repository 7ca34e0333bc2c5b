//! The IO provider.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use s2n_quic::provider::io::Provider;
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::event::EndpointPublisher;
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::io::event_loop::{EventLoop, Stats};
use s2n_quic_core::path::{Tuple, mtu};
use s2n_quic_core::task::cooldown::Cooldown;
use taut_udp::quic::{Sender, SocketLimiter};

use crate::clock::TokioClock;
use crate::rx::Rx;
use crate::tx::Tx;

/// The kernel's maximum number of datagrams in one send.
const MAX_DATAGRAMS: usize = 64;

/// An IO provider with a limited socket.
#[derive(Debug)]
pub struct Io {
    socket: UdpSocket,
    sockets: SocketLimiter,
}

impl Io {
    /// Limits `socket` with the default settings.
    pub fn new(socket: UdpSocket) -> Self {
        Self::with_sockets(socket, SocketLimiter::new())
    }

    /// Limits `socket` with other settings. A clone of `sockets` has the statistics.
    pub fn with_sockets(socket: UdpSocket, sockets: SocketLimiter) -> Self {
        Self { socket, sockets }
    }
}

impl Provider for Io {
    type PathHandle = Tuple;
    type Error = io::Error;

    fn start<E: Endpoint<PathHandle = Tuple>>(self, mut endpoint: E) -> io::Result<SocketAddress> {
        self.socket.set_nonblocking(true)?;
        let local: SocketAddress = self.socket.local_addr()?.into();
        let receiver = tokio::net::UdpSocket::from_std(self.socket.try_clone()?)?;
        let socket = self.sockets.socket(self.socket, MAX_DATAGRAMS)?;
        // The kernel can fragment datagrams of this socket, so the path MTU is not probed.
        endpoint.set_mtu_config(mtu::Config::MIN);
        let event_loop = EventLoop {
            endpoint,
            clock: TokioClock::default(),
            tx: Tx::new(Sender::new(Arc::clone(&socket))),
            rx: Rx::new(receiver, socket, local),
            cooldown: Cooldown::default(),
            stats: NoStats,
        };
        tokio::spawn(event_loop.start(local));
        Ok(local)
    }
}

struct NoStats;

impl Stats for NoStats {
    fn publish<P: EndpointPublisher>(&mut self, _: &mut P) {}
}
