//! An `AsyncUdpSocket` of noq over a limited socket.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncUdpSocket, UdpSender};
use taut_udp::{Datagram, quic};

#[derive(Debug)]
pub(crate) struct Socket {
    /// The socket of the wrapped runtime.
    pub(crate) receiver: Box<dyn AsyncUdpSocket>,
    pub(crate) sender: quic::Socket,
}

#[derive(Debug)]
struct Sender(quic::Sender);

impl UdpSender for Sender {
    fn poll_send(
        mut self: Pin<&mut Self>,
        transmit: &Transmit<'_>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let segment = transmit.segment_size.unwrap_or(0);
        let datagram = Datagram::new(transmit.contents)
            .to(transmit.destination)
            .traffic_class(transmit.ecn.map_or(0, |ecn| ecn as u8))
            .segmented(u16::try_from(segment).unwrap_or(u16::MAX));
        let datagram = match transmit.src_ip {
            Some(from) => datagram.from(from),
            None => datagram,
        };
        self.0.poll_send(datagram, context)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.0.send_datagrams()).unwrap_or(NonZeroUsize::MIN)
    }
}

impl AsyncUdpSocket for Socket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sender(self.sender.sender()))
    }

    fn poll_recv(
        &mut self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.receiver.poll_recv(context, buffers, meta) {
                Poll::Ready(Err(error)) if self.sender.is_send_error(&error) => {}
                received => return received,
            }
        }
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
