//! An `AsyncUdpSocket` of quinn over a limited socket.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use taut_udp::quic;

use crate::datagram::datagram;

/// The owner of a socket.
pub(crate) use std::sync::Arc as Owner;

#[derive(Debug)]
pub(crate) struct Socket {
    /// The stack's own socket.
    pub(crate) receiver: Owner<dyn AsyncUdpSocket>,
    pub(crate) sender: Arc<quic::Socket>,
}

/// Returns the maximum number of datagrams of one send.
pub(crate) fn max_datagrams(socket: &dyn AsyncUdpSocket) -> usize {
    socket.max_transmit_segments()
}

#[derive(Debug)]
struct Poller(quic::Sender);

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_room(context)
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller(quic::Sender::new(Arc::clone(&self.sender))))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.sender.send(datagram(transmit))
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let receive = || self.receiver.poll_recv(context, buffers, meta);
        self.sender.poll_receive(receive)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.receiver.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.sender.send_datagrams()
    }

    fn max_receive_segments(&self) -> usize {
        self.receiver.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.receiver.may_fragment()
    }
}
