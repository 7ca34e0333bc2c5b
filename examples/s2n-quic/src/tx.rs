//! Sending: the endpoint assembles a packet only while there is room.

use std::io;
use std::task::{Context, Poll, Waker};

use s2n_quic_core::event::EndpointPublisher;
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::io::tx;
use s2n_quic_core::path::{Handle, Tuple};
use taut_udp::Datagram;
use taut_udp::quic::Sender;

const MAX_DATAGRAM_BYTES: usize = 1_500;

pub(crate) struct Tx(TxQueue);

impl Tx {
    pub(crate) fn new(sender: Sender) -> Self {
        Self(TxQueue {
            sender,
            has_room: false,
        })
    }
}

impl tx::Tx for Tx {
    type PathHandle = Tuple;
    type Queue = TxQueue;
    type Error = io::Error;

    /// Ready when there is room again. While there is room, nothing changes.
    fn poll_ready(&mut self, context: &mut Context) -> Poll<io::Result<()>> {
        if self.0.has_room {
            return Poll::Pending;
        }
        let room = self.0.sender.poll_room(context);
        self.0.has_room = matches!(room, Poll::Ready(Ok(())));
        room
    }

    fn queue<F: FnOnce(&mut TxQueue)>(&mut self, transmit: F) {
        transmit(&mut self.0);
    }

    fn handle_error<E: EndpointPublisher>(self, _: io::Error, _: &mut E) {}
}

pub(crate) struct TxQueue {
    sender: Sender,
    has_room: bool,
}

impl tx::Queue for TxQueue {
    type Handle = Tuple;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(
        &mut self,
        mut message: M,
    ) -> Result<tx::Outcome, tx::Error> {
        if !self.has_room {
            return Err(tx::Error::AtCapacity);
        }
        let mut buffer = [0; MAX_DATAGRAM_BYTES];
        let len = message.write_payload(tx::PayloadBuffer::new(&mut buffer), 0)?;
        let to: SocketAddress = message.path_handle().remote_address().0;
        let datagram = Datagram::new(&buffer[..len])
            .to(to.into())
            .traffic_class(message.ecn() as u8);
        // The next `poll_ready` sets the waker of the event loop.
        let mut context = Context::from_waker(Waker::noop());
        // QUIC detects and repairs the loss of a datagram that the kernel does not accept.
        let _ = self.sender.poll_send(datagram, &mut context);
        let room = self.sender.poll_room(&mut context);
        self.has_room = matches!(room, Poll::Ready(Ok(())));
        Ok(tx::Outcome { len, index: 0 })
    }

    fn capacity(&self) -> usize {
        usize::from(self.has_room)
    }
}
