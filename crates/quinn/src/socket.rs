//! An `AsyncUdpSocket` of quinn over a limited socket.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use taut_udp::{Datagram, quic};

#[derive(Debug)]
pub(crate) struct Socket {
    /// The socket of the wrapped runtime.
    pub(crate) receiver: Arc<dyn AsyncUdpSocket>,
    pub(crate) sender: quic::Socket,
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
        Box::pin(Poller(self.sender.sender()))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let segment = transmit.segment_size.unwrap_or(0);
        let datagram = Datagram::new(transmit.contents)
            .to(transmit.destination)
            .traffic_class(transmit.ecn.map_or(0, |ecn| ecn as u8))
            .segmented(u16::try_from(segment).unwrap_or(u16::MAX));
        self.sender.send(match transmit.src_ip {
            Some(from) => datagram.from(from),
            None => datagram,
        })
    }

    fn poll_recv(
        &self,
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
