//! Receiving, one datagram at a time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use s2n_quic_core::event::EndpointPublisher;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress};
use s2n_quic_core::io::rx;
use s2n_quic_core::path::Tuple;
use taut_udp::quic::Socket;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

const MAX_DATAGRAM_BYTES: usize = 65_536;

pub(crate) struct Rx {
    receiver: UdpSocket,
    socket: Arc<Socket>,
    local: SocketAddress,
    buffer: Vec<u8>,
    /// The peer and the length of the datagram in the buffer.
    received: Option<(SocketAddr, usize)>,
}

impl Rx {
    pub(crate) fn new(receiver: UdpSocket, socket: Arc<Socket>, local: SocketAddress) -> Self {
        Self {
            receiver,
            socket,
            local,
            buffer: vec![0; MAX_DATAGRAM_BYTES],
            received: None,
        }
    }
}

impl rx::Rx for Rx {
    type PathHandle = Tuple;
    type Queue = Self;
    type Error = io::Error;

    fn poll_ready(&mut self, context: &mut Context) -> Poll<io::Result<()>> {
        let mut buffer = ReadBuf::new(&mut self.buffer);
        let receive = || self.receiver.poll_recv_from(context, &mut buffer);
        let received = self.socket.poll_receive(receive);
        received.map_ok(|from| self.received = Some((from, buffer.filled().len())))
    }

    fn queue<F: FnOnce(&mut Self)>(&mut self, receive: F) {
        receive(self);
    }

    fn handle_error<E: EndpointPublisher>(self, _: io::Error, _: &mut E) {}
}

impl rx::Queue for Rx {
    type Handle = Tuple;

    fn for_each<F: FnMut(Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        if let Some((from, bytes)) = self.received.take() {
            let path = Tuple {
                remote_address: SocketAddress::from(from).into(),
                local_address: self.local.into(),
            };
            let ecn = ExplicitCongestionNotification::NotEct;
            on_packet(Header { path, ecn }, &mut self.buffer[..bytes]);
        }
    }

    fn is_empty(&self) -> bool {
        self.received.is_none()
    }
}
