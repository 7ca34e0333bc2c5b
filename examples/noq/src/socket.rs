//! An `AsyncUdpSocket` of noq over a limited socket.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncUdpSocket, UdpSender};
use taut_udp::quic;

use crate::datagram::datagram;

/// The owner of a socket.
pub(crate) use std::boxed::Box as Owner;

#[derive(Debug)]
pub(crate) struct Socket {
    /// The stack's own socket.
    pub(crate) receiver: Owner<dyn AsyncUdpSocket>,
    pub(crate) sender: Arc<quic::Socket>,
}

/// Returns the maximum number of datagrams of one send.
pub(crate) fn max_datagrams(socket: &dyn AsyncUdpSocket) -> usize {
    socket.create_sender().max_transmit_segments().get()
}

#[derive(Debug)]
struct Sender(quic::Sender);

impl UdpSender for Sender {
    fn poll_send(
        mut self: Pin<&mut Self>,
        transmit: &Transmit<'_>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.poll_send(datagram(transmit), context)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.0.send_datagrams()).unwrap_or(NonZeroUsize::MIN)
    }
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender(quic::Sender::new(Arc::clone(&self.sender))))
    }

    fn poll_recv(
        &mut self,
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

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.receiver.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.receiver.may_fragment()
    }
}
